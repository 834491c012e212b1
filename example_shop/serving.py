"""The whole demo in one process, over real sockets: payments service, shop and warehouse."""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from example_shop.app import create_app
from example_shop.database import db
from example_shop.payments import LIGHTHOUSE, BrandAccount, keep_keys, paycheckout
from example_shop.warehouse import create_warehouse
from flask_paycheckout.sandbox import create_sandbox, sandbox_clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

HOST = "127.0.0.1"


class Demo:
    """The apps of the demo, which know each other's addresses.

    :param folder: keeps the database, and the settings for commands in another terminal.
    :param database: the URL of the shop's database; by default a new SQLite file.
    """

    def __init__(self, folder: Path, port: int, sandbox_port: int, warehouse_port: int, database: str | None) -> None:
        ports = (port, sandbox_port, warehouse_port)
        self.shop_url, self.sandbox_url, self.warehouse_url = (f"http://{HOST}:{number}" for number in ports)
        self.control_token, self.owner_password = secrets.token_urlsafe(16), secrets.token_urlsafe(9)
        webhook_secret = secrets.token_urlsafe(16)
        webhook_url = f"{self.shop_url}/paycheckout/webhook/{webhook_secret}"
        self.warehouse = create_warehouse()
        self.sandbox = create_sandbox(
            webhook_url=webhook_url,
            control_token=self.control_token,
            base_url=self.sandbox_url,
            unknowns={"disbursement_progress": "completed"},  # as banks do, after ten minutes
            send_in_call=True,  # so that a customer who has paid finds the order paid, every time
        )
        settings = {
            "SECRET_KEY": secrets.token_hex(32),
            "SQLALCHEMY_DATABASE_URI": database or f"sqlite:///{folder / 'shop.sqlite'}",
            # Against DNS rebinding: another site's host name could resolve to this machine.
            "TRUSTED_HOSTS": [HOST, "localhost"],
            "OWNER_PASSWORD": self.owner_password,
            "WAREHOUSE_URL": self.warehouse_url,
            # Browsers share cookies among all ports of a host, where another app may have a session too.
            "SESSION_COOKIE_NAME": "fair_and_foul",
            "SESSION_COOKIE_SECURE": False,  # the demo uses plain http on this machine
            "BRAND_KEYS": [Fernet.generate_key().decode()],  # encrypt the keys of the second brand's account
            "PAYCHECKOUT_BASE_URL": self.sandbox_url,
            "PAYCHECKOUT_CLIENT_ID": "sandbox-client",
            "PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
            "PAYCHECKOUT_ACCESS_TOKEN": "sandbox-access-token",  # payouts are sent with one
            "PAYCHECKOUT_PUBLIC_URL": self.shop_url,
            "PAYCHECKOUT_WEBHOOK_SECRET": webhook_secret,
            "PAYCHECKOUT_ALLOW_SANDBOX": True,
        }
        self.settings_file = folder / "settings.cfg"
        self.settings_file.touch(mode=0o600)
        self.settings_file.write_text("".join(f"{key} = {value!r}\n" for key, value in settings.items()))
        # Use the sandbox's clock, so that advancing it advances the shop's time too.
        self.app = create_app(settings, clock=sandbox_clock(self.sandbox))
        self.open_account(LIGHTHOUSE, webhook_url)

    def open_account(self, brand: str, webhook_url: str) -> None:
        """Create a brand's account at the service, and store its keys in the shop."""
        json, headers = {"name": brand, "webhookUrl": webhook_url}, {"X-Sandbox-Control": self.control_token}
        account: Any = self.sandbox.test_client().post("/_sandbox/accounts", json=json, headers=headers).json
        with self.app.app_context():
            keep_keys(
                BrandAccount(
                    brand=brand,
                    client_id=account["clientId"],
                    client_secret=account["clientSecret"],
                    access_token=account["accessToken"],
                )
            )

    def reconcile(self) -> None:
        """Run one round of reconcile, as `flask paycheckout reconcile --watch` does in production."""
        with self.app.app_context():
            paycheckout.reconcile()


@contextmanager
def running_demo(
    port: int = 5000, sandbox_port: int = 8790, warehouse_port: int = 5001, database: str | None = None
) -> Iterator[Demo]:
    """Serve the demo until the end of the context, which stops everything and deletes temporary files."""
    with TemporaryDirectory(prefix="fair-and-foul-") as folder:
        demo = Demo(Path(folder), port, sandbox_port, warehouse_port, database)
        with served(demo.warehouse, warehouse_port), served(demo.sandbox, sandbox_port), served(demo.app, port):
            yield demo
        with demo.app.app_context():
            db.engine.dispose()


class QuietHandler(WSGIRequestHandler):
    """A request handler that logs nothing, so that the terminal shows only the addresses."""

    # Browsers open spare connections without sending anything; these must not delay the end of the server.
    timeout = 2.0

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass


@contextmanager
def served(app: Flask, port: int) -> Iterator[None]:
    """Serve an app in separate threads until the end of the context."""
    server = ThreadedWSGIServer(HOST, port, app, QuietHandler)
    # No daemon threads, so that closing the server waits for requests under way.
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
