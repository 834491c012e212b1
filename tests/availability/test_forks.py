"""Forked processes share no connection, and none waits for work that another one has under way."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
import requests
from flask import Flask

from flask_paycheckout import Pay, PayCheckout
from flask_paycheckout.client import NotFound
from flask_paycheckout.runtime import KEY
from flask_paycheckout.service import limits
from flask_paycheckout.service.calls import CREATE, READ
from tests.availability.processes import serving
from tests.conftest import OpenShop
from tests.docs.pages import snippet
from tests.scripted import SAME_SITE, refusal, success
from tests.socket_service import Call, SocketService
from tests.waiting import eventually


class Service(SocketService):
    """Makes checkouts, knows no deposits, and records the connection of each call."""

    keeps_connections = True

    def __init__(self) -> None:
        super().__init__()
        self.ids = count(1)
        #: The client's port and the process number in the amount, for each call.
        self.calls: list[tuple[int, str]] = []

    def creates(self, call: Call) -> bytes:
        # Each process requests its own amount.
        self.calls.append((call.port, str(int(call.sent["inputAmount"]))))
        return success({"id": f"chk-{next(self.ids)}", "url": "https://pay.example/checkout"}, 201)

    def reads(self, call: Call) -> bytes:
        self.calls.append((call.port, call.name))
        return refusal(404, "Deposit not found").content


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    with service.running():
        yield service


@contextmanager
def forked(does: Callable[[], object]) -> Iterator[None]:
    """Run a function in a child process, which must exit with 0."""
    child = multiprocessing.get_context("fork").Process(target=does)
    child.start()
    yield
    child.join(60)
    assert child.exitcode == 0


def calls(app: Flask, paycheckout: PayCheckout, who: int, orders: list[str]) -> None:
    """Make a call of the client and a call of a web request, with the number of this process as the amount."""
    with app.app_context():
        with pytest.raises(NotFound):
            paycheckout.client.deposits.get(str(who))
        url = paycheckout.pay_url(f"{who}-{len(orders)}")
    orders.append(url)
    answer = app.test_client().post(url, headers=SAME_SITE)
    assert answer.status_code == 303, answer.text


def test_parent_and_children_share_nothing_of_ours(service: Service, open_shop: OpenShop) -> None:
    shop = open_shop(socket=service.url, PAYCHECKOUT_WEB_CALLS=1)
    app, db, paycheckout = shop.app, shop.db, shop.paycheckout
    paycheckout.order_total(lambda order_id: Pay(order_id.partition("-")[0], "USD"))
    orders: list[str] = []
    calls(app, paycheckout, 1, orders)

    def child(who: int) -> None:
        with app.app_context():
            # The shop must do this itself.
            db.engine.dispose(close=False)
        for _ in range(2):
            calls(app, paycheckout, who, orders)

    runtime = app.extensions[KEY]
    breaker, starts = runtime.service.limits(), limits.Call("", CREATE)
    # At the fork the parent's only slot is taken, its breaker is open, and a start of the child's first order running.
    with app.test_request_context(), runtime.service.permit(READ), runtime.starter._starting.join("2-1"):
        for _ in range(3):
            breaker.failed(starts)
        with forked(lambda: child(2)), forked(lambda: child(3)):
            pass
        with pytest.raises(Exception, match="was not asked"), runtime.service.permit(CREATE):
            pass
        breaker.answered(starts)
    calls(app, paycheckout, 1, orders)

    ports = {port: {who for at, who in service.calls if at == port} for port, _ in service.calls}
    assert {who for _, who in service.calls} == {"1", "2", "3"}
    assert all(len(processes) == 1 for processes in ports.values()), ports
    assert len(service.calls) > len(ports), "connections are kept and used again"


SHOP = """
from sqlalchemy import text
from tests import shop_app

app = shop_app.create_app()
db = app.extensions["sqlalchemy"]
with app.app_context():
    print(db.session.execute(text("SELECT 1")).scalar())


@app.get("/connection")
def connection():
    import os

    return f"{os.getpid()} {db.session.execute(text('SELECT pg_backend_pid()')).scalar()}"
"""


def test_workers_of_a_preloaded_shop_have_connections_of_their_own(postgres_database: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "gunicorn.conf.py").write_text(snippet("docs/production.md", "preload", "gunicorn.conf.py"))
    command = f"gunicorn --preload --workers 2 --bind {{address}} --pythonpath {tmp_path}"
    settings = {"SQLALCHEMY_DATABASE_URI": postgres_database, "PAYCHECKOUT_BASE_URL": "http://127.0.0.1:9"}
    with serving(f"{command} --config {tmp_path / 'gunicorn.conf.py'} shop:app", **settings) as address:
        seen = set[tuple[str, ...]]()

        def of_both() -> bool:
            seen.add(tuple(requests.get(f"{address}/connection", timeout=60).text.split()))
            return len({worker for worker, _ in seen}) == 2

        eventually(of_both)
    assert len({connection for _, connection in seen}) == len(seen), "a connection of two workers"
