"""Fixtures of the unit tests: a shop on a real SQLite file whose payments service follows a script."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout
from flask_paycheckout.testing import Signals
from tests.postgres import empty_database, running_server
from tests.scripted import Clock, Service, Shop, make_app

OpenShop = Callable[..., Shop]

# Started as a background job, a process ignores SIGINT, and so would every program that the tests stop with Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Runs test files of its own, to try the plugin as a shop would.
pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server that these tests started."""
    with running_server() as address:
        yield address


@pytest.fixture
def postgres_database(postgres_server: str) -> Iterator[str]:
    """The address of an empty PostgreSQL database, for a shop's settings."""
    with empty_database(postgres_server) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def each_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database on a disk, of each kind that a shop may use."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return f"sqlite:///{tmp_path / 'each.db'}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def open_shop(tmp_path: Path, service: Service, clock: Clock) -> Iterator[OpenShop]:
    """Opens shops; each name has a database file of its own."""
    opened: list[Shop] = []

    def open_one(name: str = "shop", *, prepare: Callable[[SQLAlchemy], object] | None = None, **config: Any) -> Shop:
        app = make_app(**{"SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path / name}.db"} | config)
        db = SQLAlchemy(app)
        if prepare is not None:
            prepare(db)
        paycheckout = PayCheckout()
        paycheckout.init_app(app, db, transport=httpx.MockTransport(service), clock=clock)
        shop = Shop(app, db, paycheckout, service, clock, {"o-1": Pay("12.50", "USD"), "o-2": Pay("12.50", "USD")})
        paycheckout.order_total(shop.totals.get)
        with app.app_context():
            db.create_all()
        opened.append(shop)
        return shop

    yield open_one
    for shop in opened:
        with shop.app.app_context():
            for engine in shop.db.engines.values():
                engine.dispose()


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop()


@pytest.fixture
def signals(paycheckout_signals: Signals) -> Signals:
    return paycheckout_signals
