"""The whole demo in one process, over real sockets: payments service, shop, warehouse and reconciler."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import requests
from cryptography.fernet import Fernet
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from example_shop.app import create_app
from example_shop.database import db
from example_shop.hooks import utc_now
from example_shop.payments import LIGHTHOUSE, keep_keys, paycheckout
from example_shop.warehouse import create_warehouse
from flask_paycheckout.sandbox import create_sandbox, sandbox_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from flask import Flask

    from flask_paycheckout import ReconcileReport

HOST = "127.0.0.1"
RECONCILE_EVERY = 2.0
"""Seconds between two rounds of reconcile."""

_log = logging.getLogger(__name__)


class PortTakenError(Exception):
    """A port is in use, or needs more rights."""

    def __init__(self, port: int, reason: str) -> None:
        super().__init__(f"Port {port} of {HOST} cannot be used: {reason}. Choose another, or 0 for any that is free.")


def listen(port: int) -> socket.socket:
    """Open a listening socket, before the apps are made, as each needs the addresses of the others."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise PortTakenError(port, error.strerror or str(error)) from error
    return listener


def address_of(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"


class QuietHandler(WSGIRequestHandler):
    """A request handler that logs nothing, so that the terminal shows the addresses only."""

    # Browsers open spare connections without sending anything; these must not delay the end of the server.
    timeout = 2.0

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        pass


@contextmanager
def served(app: Flask, listener: socket.socket) -> Iterator[None]:
    """Serve an app in threads of its own until the end of the context."""
    server = ThreadedWSGIServer(HOST, 0, app, QuietHandler, fd=listener.fileno())
    listener.close()  # the server has a copy of its own
    # Without daemon threads, so that closing the server waits for requests under way.
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name=f"serve {app.name}")
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def repeated(reconcile: Callable[[], object]) -> Iterator[None]:
    """Reconcile every few seconds, as `flask paycheckout reconcile --watch` does in production."""
    stopping = threading.Event()

    def run() -> None:
        while not stopping.wait(RECONCILE_EVERY):
            try:
                reconcile()
            except Exception:
                _log.exception("This round of reconciling failed; the next one comes in %s seconds.", RECONCILE_EVERY)

    thread = threading.Thread(target=run, name="reconciler")
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


class Demo:
    """The running demo; a context manager that stops everything at its end.

    :param port: the shop's port; 0 for any free one, as for the other two.
    :param database: the URL of the shop's database; by default a new SQLite file.
    :param webhooks: whether the service sends webhooks; without them, reconcile and status pages find the payments.
    :param reconciler: whether to reconcile in the background; otherwise call `reconcile()`.
    :raises PortTakenError: before anything was started.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        sandbox_port: int = 0,
        warehouse_port: int = 0,
        database: str | None = None,
        webhooks: bool = True,
        reconciler: bool = True,
    ) -> None:
        self.control_token = secrets.token_urlsafe(16)
        self.owner_password = secrets.token_urlsafe(9)
        with ExitStack() as parts:
            folder = Path(parts.enter_context(TemporaryDirectory(prefix="fair-and-foul-")))
            shop, sandbox, warehouse = (
                parts.enter_context(listen(number)) for number in (port, sandbox_port, warehouse_port)
            )
            self.shop_url, self.sandbox_url, self.warehouse_url = map(address_of, (shop, sandbox, warehouse))
            settings = self._settings(database or f"sqlite:///{folder / 'shop.sqlite'}")
            self.settings_file = write_settings(folder / "settings.cfg", settings)

            # The shop may ask for the time before there is a sandbox, whose clock begins as the machine's.
            self._sandbox_now: Callable[[], datetime] = utc_now
            self.app = create_app(settings, clock=self._now)
            parts.callback(self._close_database)
            webhook_url = self._webhook_url() if webhooks else None
            self.sandbox = create_sandbox(
                webhook_url=webhook_url,
                control_token=self.control_token,
                base_url=self.sandbox_url,
                unknowns={"disbursement_progress": "completed"},  # as banks do, after ten minutes
                send_in_call=True,  # so that a customer who has paid finds the order paid, every time
            )
            self._sandbox_now = sandbox_clock(self.sandbox)
            self.warehouse = create_warehouse()

            for app, listener in ((self.warehouse, warehouse), (self.app, shop), (self.sandbox, sandbox)):
                parts.enter_context(served(app, listener))
            self._open_account(LIGHTHOUSE, webhook_url)
            if reconciler:
                parts.enter_context(repeated(self.reconcile))
            self._parts = parts.pop_all()

    def _settings(self, database: str) -> dict[str, object]:
        return {
            "SECRET_KEY": secrets.token_hex(32),
            "SQLALCHEMY_DATABASE_URI": database,
            # Against DNS rebinding: another site's host name could resolve to this machine.
            "TRUSTED_HOSTS": [HOST, "localhost"],
            "OWNER_PASSWORD": self.owner_password,
            "WAREHOUSE_URL": self.warehouse_url,
            # Browsers share cookies among all ports of a host, and the sandbox has a session cookie too.
            "SESSION_COOKIE_NAME": "fair_and_foul",
            "SESSION_COOKIE_SECURE": False,  # the demo uses plain http on this machine
            "BRAND_KEYS": [Fernet.generate_key().decode()],  # encrypt the keys of the second brand's account
            "PAYCHECKOUT_BASE_URL": self.sandbox_url,
            "PAYCHECKOUT_CLIENT_ID": "sandbox-client",
            "PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
            "PAYCHECKOUT_ACCESS_TOKEN": "sandbox-access-token",  # payouts are sent with one
            "PAYCHECKOUT_PUBLIC_URL": self.shop_url,
            "PAYCHECKOUT_WEBHOOK_SECRET": secrets.token_urlsafe(16),
            "PAYCHECKOUT_ALLOW_SANDBOX": True,
        }

    def _open_account(self, brand: str, webhook_url: str | None) -> None:
        """Make a brand's account at the service, and store its keys in the shop."""
        made = self.control("POST", "/accounts", {"name": brand, "webhookUrl": webhook_url})
        with self.app.app_context():
            keep_keys(brand, made["clientId"], made["clientSecret"], made["accessToken"])

    def _now(self) -> datetime:
        """The sandbox's time, so that advancing its clock advances the shop's too."""
        return self._sandbox_now()

    def _webhook_url(self) -> str:
        with self.app.app_context():
            return paycheckout.webhook_url()

    def _close_database(self) -> None:
        with self.app.app_context():
            db.engine.dispose()

    def reconcile(self) -> ReconcileReport:
        """Run one round of reconcile."""
        with self.app.app_context():
            return paycheckout.reconcile()

    def control(self, method: str, path: str, json: object = None) -> Any:
        """Call the sandbox's control interface: `demo.control("POST", "/clock", {"advanceSeconds": 1020})`."""
        headers = {"X-Sandbox-Control": self.control_token}
        with requests.Session() as line:
            # No proxy of the environment gets the token.
            line.trust_env = False
            answer = line.request(method, f"{self.sandbox_url}/_sandbox{path}", json=json, headers=headers, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def advance(self, *, minutes: float) -> None:
        """Advance the clock of the service and the shop."""
        self.control("POST", "/clock", {"advanceSeconds": round(minutes * 60)})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all servers and threads, and delete temporary files."""
        self._parts.close()


def write_settings(path: Path, settings: dict[str, object]) -> Path:
    """Write a file for SHOP_SETTINGS, so that commands in another terminal work on the same shop."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{key} = {value!r}\n" for key, value in settings.items()))
    return path
