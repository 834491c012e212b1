"""Serving a sandbox with the options of the command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EADDRINUSE
from functools import partial
from threading import current_thread, main_thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.sandbox.app import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.control.accounts import describe_account
from flask_paycheckout.sandbox.control.sender import SENDER, WebhookSender
from flask_paycheckout.sandbox.control.snapshots import MAX_BYTES as MAX_SNAPSHOT_BYTES
from flask_paycheckout.sandbox.control.state_calls import RESTORE
from flask_paycheckout.sandbox.control.worlds import WORLDS, Worlds
from flask_paycheckout.sandbox.hooks import CONTROL, MAX_BODY_BYTES
from flask_paycheckout.sandbox.terminal.parameters import TOKEN_VARIABLE
from flask_paycheckout.sandbox.wire.envelope import to_wire
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.database_problems import DatabaseUnusable, explain_failure

if TYPE_CHECKING:
    from flask_paycheckout.sandbox.wire.server import Server

DATABASE = "SANDBOX_DATABASE"
"""Variable of the environment with the database's URL."""


class ServerMissing(Exception):
    """The library that serves the sandbox is not installed."""


def serve(given: Mapping[str, Any]) -> int:
    """Serve a sandbox with the options of the command line until it is stopped."""
    options = SimpleNamespace(**given)
    options.database = options.database or os.environ.get(DATABASE) or "sqlite://"
    try:
        return _serve(options)
    except (ValueError, DatabaseUnusable, ServerMissing, OSError) as wrong:
        is_taken = isinstance(wrong, OSError) and wrong.errno == EADDRINUSE
        remedy = ". Stop what listens there, or choose another port with --port." if is_taken else ""
        print(f"The sandbox could not start: {wrong}{remedy}", file=sys.stderr)  # noqa: T201
        return 2


def _serve(options: SimpleNamespace) -> int:
    # Bound first because the addresses of checkouts contain the port, also when the system chooses it.
    server = _server_at(options.host, options.port)
    try:
        app = _open(options, server)
        print(greeting(app, as_json=options.json), flush=True)  # noqa: T201
        sender: WebhookSender = app.extensions[SENDER]
        with sender.running(), _stopped_by_sigterm():
            server.run(app, partial(body_limit, app))
    finally:
        server.close()
    return 0


def _server_at(host: str, port: int) -> Server:
    try:
        # Imported here because the command has other uses, for which the library need not be installed.
        from flask_paycheckout.sandbox.wire.server import Server
    except ImportError as missing:
        raise ServerMissing(
            f"the package {missing.name!r}, its server, cannot be imported. Install flask-paycheckout[sandbox]."
        ) from None
    return Server(host, port)


#: Options of the command line that have the names and values of `create_sandbox`'s.
_PASSED_ON = [
    "database",
    "webhook_url",
    "trusted_proxies",
    "seed",
    "allow_remote_control",
    "allow_remote_webhooks",
    "clock",
    "worlds",
]


def _open(options: SimpleNamespace, server: Server) -> Flask:
    try:
        return create_sandbox(
            **{name: getattr(options, name) for name in _PASSED_ON},
            control_token=options.control_token or os.environ.get(TOKEN_VARIABLE),
            unknowns=dict(options.unknown),
            base_url=options.base_url or address_of(options.host, server.port),
            allow_hosts=options.allow_host,
        )
    except (SQLAlchemyError, ImportError) as wrong:
        raise explain_failure(options.database, wrong) from None


def address_of(host: str, port: int) -> str:
    """The URL of a server that listens on `host`; a wildcard address is replaced by loopback."""
    name = "127.0.0.1" if host in {"0.0.0.0", "::", ""} else host  # noqa: S104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """SIGTERM stops the server as Ctrl-C does. Only the main thread may say so."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def body_limit(app: Flask, path: str, headers: Mapping[str, str]) -> int:
    """The bytes that the body of a request may have; only who holds the world's control token may send a snapshot."""
    if not path.endswith(f"{CONTROL}{RESTORE}"):
        return MAX_BODY_BYTES
    worlds: Worlds | None = app.extensions.get(WORLDS)
    found, path = (app, path) if worlds is None else worlds.find(path)
    may = path == f"{CONTROL}{RESTORE}" and world(found).is_control_token(headers.get("X_SANDBOX_CONTROL", ""))
    return MAX_SNAPSHOT_BYTES if may else MAX_BODY_BYTES


def facts(app: Flask) -> dict[str, Any]:
    """Addresses and credentials of a sandbox."""
    here = world(app)
    with app.app_context(), transaction() as session:
        first = to_wire(describe_account(session, ACCOUNT_NAME))
    return {
        "baseUrl": here.base_url,
        "inspector": f"{here.base_url}/",
        "checkoutPages": f"{here.base_url}/checkout/",
        **{name: first[name] for name in ("clientId", "clientSecret", "accessToken", "email", "password")},
        "controlToken": here.control_token,
    }


#: The settings of a shop for this sandbox, by the facts that they are.
_SETTINGS = {"BASE_URL": "baseUrl", "CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret"}


def greeting(app: Flask, *, as_json: bool) -> str:
    known = facts(app)
    if as_json:
        return json.dumps(known)
    return "\n".join(
        [
            "The payments sandbox is listening. It moves no real money.",
            "",
            *(f"  {name:<15}{value}" for name, value in known.items()),
            "",
            "For the terminal of a shop beside it:",
            "",
            # Not indented, for the sake of shell histories.
            *(f"export FLASK_PAYCHECKOUT_{name}={shlex.quote(known[fact])}" for name, fact in _SETTINGS.items()),
            "",
            "Ctrl-C stops it.",
        ]
    )
