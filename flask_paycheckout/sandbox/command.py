"""Serving a sandbox with the options of the command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from errno import EADDRINUSE
from threading import current_thread, main_thread
from typing import Any
from urllib.parse import quote

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.sandbox.app import MIN_TOKEN, create_sandbox
from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.control.accounts import describe_account
from flask_paycheckout.sandbox.control.sender import SENDER, WebhookSender
from flask_paycheckout.sandbox.control.snapshots import MAX_BYTES as MAX_SNAPSHOT_BYTES
from flask_paycheckout.sandbox.hooks import MAX_BODY_BYTES
from flask_paycheckout.sandbox.terminal.connection import TOKEN_VARIABLE
from flask_paycheckout.sandbox.wire.envelope import to_wire
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.database_problems import DatabaseUnusable, explain_failure
from flask_paycheckout.sandbox.world.reach import is_loopback

_SHORT_TOKEN = (
    f"Others could guess the control token, which has fewer than {MIN_TOKEN} characters. A random one is in its place."
)


def serve(host: str, port: int, *, json: bool, **arguments: Any) -> int:
    """Serve a sandbox until it is stopped.

    :param arguments: all other options of the command line; options of `create_sandbox` have its parameters' names.
    """
    options = {name: arguments[name] for name in arguments.keys() - {"url", "list_unknowns"}}
    try:
        # Imported here because the command has other uses, for which waitress need not be installed.
        from flask_paycheckout.sandbox.wire.server import listen, run
    except ImportError:
        return _failed("waitress, its server, cannot be imported. Install flask-paycheckout[sandbox].")
    try:
        # Opened first because the addresses of checkouts contain the port, even if the system chooses it.
        with closing(listen(host, port)) as listener:
            app = _open(host, listener.getsockname()[1], options)
            print(greeting(app, as_json=json), flush=True)  # noqa: T201
            sender: WebhookSender = app.extensions[SENDER]
            with sender.running(), _stopped_by_sigterm():
                run(app, listener, MAX_SNAPSHOT_BYTES, MAX_BODY_BYTES)
    except (ValueError, DatabaseUnusable, OSError) as error:
        is_taken = isinstance(error, OSError) and error.errno == EADDRINUSE
        remedy = ". Stop what listens there, or choose another port with --port." if is_taken else ""
        return _failed(f"{error}{remedy}")
    return 0


def _failed(why: str) -> int:
    print(f"The sandbox could not start: {why}", file=sys.stderr)  # noqa: T201
    return 2


def _open(host: str, port: int, options: dict[str, Any]) -> Flask:
    is_shared = options["allow_remote_control"] or not is_loopback(host)
    token = options["control_token"] or os.environ.get(TOKEN_VARIABLE)
    if is_shared and token and len(token) < MIN_TOKEN:
        print(_SHORT_TOKEN, file=sys.stderr)  # noqa: T201
        token = None
    base_url = options["base_url"] or address_of(host, port)
    decided = {"control_token": token, "allow_remote_control": is_shared, "base_url": base_url}
    try:
        return create_sandbox(**options | decided)
    except (SQLAlchemyError, ImportError) as error:
        raise explain_failure(options["database"], error) from None


def address_of(host: str, port: int) -> str:
    """The URL of a server that listens on `host`; a wildcard address is replaced by loopback."""
    name = "127.0.0.1" if host in {"0.0.0.0", "::", ""} else host  # noqa: S104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM stop the server as Ctrl-C does. Only the main thread can set a signal handler."""
    if current_thread() is not main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def facts(app: Flask) -> dict[str, Any]:
    """Addresses and credentials of a sandbox."""
    here = world(app)
    with app.app_context(), transaction() as session:
        first = to_wire(describe_account(session, ACCOUNT_NAME))
    return {
        "baseUrl": here.base_url,
        "inspector": f"{here.base_url}/",
        "openInspector": f"{here.base_url}/?token={quote(here.control_token)}",
        "checkoutPages": f"{here.base_url}/checkout/",
        **{name: first[name] for name in ("clientId", "clientSecret", "accessToken", "email", "password")},
        "controlToken": here.control_token,
    }


#: The settings of a shop that uses this sandbox, each with the fact that is its value.
_SETTINGS = {"BASE_URL": "baseUrl", "CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret"}


def greeting(app: Flask, *, as_json: bool) -> str:
    values = facts(app)
    if as_json:
        return json.dumps(values)
    lines = values | {"inspector": values["openInspector"]}
    del lines["openInspector"]
    return "\n".join(
        [
            "The payments sandbox is listening. It moves no real money.",
            "",
            *(f"  {name:<15}{value}" for name, value in lines.items()),
            "",
            "For the terminal of a shop beside it:",
            "",
            # Not indented, because shells may leave indented commands out of their history.
            *(f"export FLASK_PAYCHECKOUT_{name}={shlex.quote(values[fact])}" for name, fact in _SETTINGS.items()),
            "",
            "Ctrl-C stops it.",
        ]
    )
