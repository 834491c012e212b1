"""Fixtures of the unit tests: a shop on a real SQLite file whose payments service follows a script."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from hypothesis import HealthCheck, settings
from jinja2 import FileSystemBytecodeCache
from sqlalchemy import Dialect, Engine
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from flask_paycheckout import Pay, PayCheckout, order_paid
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.testing import Sandbox, Signals
from tests.chance import asked_seed
from tests.hosts import FLASK_SQLALCHEMY, HOSTS, arguments_of, database_on, host_of
from tests.optional_parts import left_out
from tests.payouts.paying import Payer
from tests.postgres import empty_database, empty_schema, running_server
from tests.repeatable import same_ids, standing_time
from tests.scripted import Clock, Service, Shop, make_app
from tests.two_accounts import Signatures, gets_two_accounts, keys_of_second

OpenShop = Callable[..., Shop]
OpenPayer = Callable[..., Payer]
NewDatabase = Callable[[str], str]

# A background job ignores SIGINT, and so would every program that the tests stop with Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Otherwise each app of the tests would compile the templates, which takes a third of the time of tests of pages.
Flask.jinja_options = {"bytecode_cache": FileSystemBytecodeCache()}

# The examples repeat in each run; `--hypothesis-profile=default` draws others. No deadline: the machine may be busy.
settings.register_profile("usual", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("usual")

# `pytester` runs test files with the plugin as a shop would; `canaries` searches the output of all tests for secrets.
pytest_plugins = ["pytester", "tests.tiers", "tests.canaries", "tests.browser.chromium"]


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
    """The address of an empty database on disk, for each kind of database that a shop may use."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return f"sqlite:///{tmp_path / 'each.db'}"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Spread a whole run over all cores. A chosen folder or test runs in one process, as does `-n 0`."""
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS
    # Workers have no such option, and `-p no:xdist` removes it.
    may_choose = config.pluginmanager.hasplugin("xdist") and not hasattr(config, "workerinput")
    if whole and may_choose and config.option.numprocesses is None and not config.option.collectonly:
        config.option.numprocesses, config.option.dist = "auto", "worksteal"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores, because each waits a part of its time for servers and processes that it starts."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let each worker of xdist draw the same cases."""
    node.workerinput["seed_of_cases"] = asked_seed(node.config)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--host", choices=HOSTS, help="the SQLAlchemy of all shops of the tests")
    parser.addoption("--turn-hosts", type=int, default=0, help="how many hosts further each test is whose name has one")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "on_each_database(*drivers): the tests' shops run on SQLite, on PostgreSQL, and with these drivers"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each reason to skip tests, instead of one for each test."""
    for line in left_out(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("on_each_database")
    if marker and "database_kind" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", ["sqlite", "postgresql", *marker.args])


@pytest.fixture
def database_kind() -> str:
    """The kind of database of the test's shops: a SQLite file, unless the test is marked `on_each_database`."""
    return "sqlite"


@pytest.fixture
def new_database(request: pytest.FixtureRequest, tmp_path: Path, database_kind: str) -> Iterator[NewDatabase]:
    """A function that gives the address of an empty database for each name, and the same address for the same name."""
    addresses: dict[str, str] = {}
    with ExitStack() as stack:

        def make(name: str) -> str:
            if database_kind == "sqlite":
                return f"sqlite:///{tmp_path / name}.db"
            if name not in addresses:
                server = request.getfixturevalue("postgres_server")
                # The other PostgreSQL driver takes no schema in an address.
                new = empty_schema(server) if database_kind == "postgresql" else empty_database(server, database_kind)
                addresses[name] = stack.enter_context(new)
            return addresses[name]

        yield make


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def paycheckout_sandbox(
    paycheckout_sandbox: Sandbox, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Sandbox:
    """The whole payments service, the same in each run: its clock stands until it is advanced, and its ids repeat."""
    world(paycheckout_sandbox.app).clock.machine = standing_time()
    monkeypatch.setattr("flask_paycheckout.sandbox.world.settings._random", same_ids(request.node.nodeid))
    return paycheckout_sandbox


@pytest.fixture
def accounts() -> int:
    """The number of the test's merchant accounts; of two, each has half of the orders. See `tests.two_accounts`."""
    return 1


class UsualDatabase:
    """The mapped classes and compiled statements that the shops of a process share if they add no tables.

    Making them for each shop would take longer than most tests.
    """

    def __init__(self) -> None:
        self.db = SQLAlchemy()
        self._statements: dict[Any, Any] = {}
        self._dialects: dict[str, Dialect] = {}
        self._tables: dict[str, list[str]] = {}

    def make_tables(self, engine: Engine) -> None:
        """Make the tables that are missing."""
        if engine.name not in self._tables:
            tables = self.db.metadata.sorted_tables
            making: list[ExecutableDDLElement] = [CreateTable(table, if_not_exists=True) for table in tables]
            making += [CreateIndex(index, if_not_exists=True) for table in tables for index in table.indexes]
            self._tables[engine.name] = [str(each.compile(engine)) for each in making]
        statements = self._tables[engine.name]
        with engine.begin() as connection:
            connection = connection.execution_options(no_parameters=True)
            # PostgreSQL's driver takes several statements at once. SQLite's would commit each statement without BEGIN.
            for statement in [";".join(statements)] if engine.name == "postgresql" else ["BEGIN", *statements]:
                connection.exec_driver_sql(statement)

    def share_statements(self, engine: Engine) -> None:
        """Let an engine with the usual options reuse the statements that other engines have compiled."""
        engine.dialect = self._dialects.setdefault(engine.driver, engine.dialect)
        engine.update_execution_options(compiled_cache=self._statements)


usual_database = cache(UsualDatabase)


@pytest.fixture
def host(request: pytest.FixtureRequest) -> str:
    """The name of the test's shops' database object among `HOSTS`."""
    return host_of(request.node.nodeid, request.config.option)


@pytest.fixture
def open_shop(
    new_database: NewDatabase, service: Service, clock: Clock, accounts: int, host: str
) -> Iterator[OpenShop]:
    """Opens shops; each name has a database of its own.

    Their payments service is the test's script, unless the test gives a sandbox, or the address of a `socket`. The
    clock of a host may be `ahead` of the test's by some seconds. By default, a shop `hears` of payments.
    """
    opened: list[Shop] = []
    signed: list[tuple[Signatures, Shop, Sandbox | None]] = []

    def open_one(
        name: str = "shop",
        *,
        prepare: Callable[[Any], object] | None = None,
        session_options: dict[str, Any] | None = None,
        sandbox: Sandbox | None = None,
        socket: str | None = None,
        ahead: float = 0,
        hears: bool = True,
        **config: Any,
    ) -> Shop:
        if sandbox is not None:
            config = sandbox.config | config
        if socket is not None:
            config = {"PAYCHECKOUT_BASE_URL": socket, "PAYCHECKOUT_TIMEOUT": 30} | config
        if "SQLALCHEMY_DATABASE_URI" not in config:
            config["SQLALCHEMY_DATABASE_URI"] = new_database(name)
        app = make_app(**config)
        adds_nothing = prepare is None and not session_options and "SQLALCHEMY_BINDS" not in config
        usual = usual_database() if adds_nothing and host == FLASK_SQLALCHEMY else None
        if usual or session_options:
            db = usual.db if usual else SQLAlchemy(session_options=session_options)
            db.init_app(app)
        else:
            db = database_on(host, app)
        if prepare is not None:
            with app.app_context():
                prepare(db)
        paycheckout = PayCheckout()
        transport = sandbox.transport if sandbox else httpx.MockTransport(service) if socket is None else None
        second = keys_of_second(sandbox, app.config["PAYCHECKOUT_CLIENT_ID"]) if accounts == 2 else None
        if second is not None and transport is not None:
            transport = Signatures(transport)
        # Shops with a sandbox use its clock.
        now: Callable[[], datetime] = getattr(transport, "clock", clock)
        later = timedelta(seconds=ahead)
        paycheckout.init_app(app, **arguments_of(db), transport=transport, clock=lambda: now() + later)
        shop = Shop(app, db, paycheckout, service, clock, {"o-1": Pay("12.50", "USD"), "o-2": Pay("12.50", "USD")})
        paycheckout.order_total(shop.totals.get)
        if hears:
            order_paid.connect(hear_payment, sender=app)
        if second is not None:
            gets_two_accounts(paycheckout, second)
            if isinstance(transport, Signatures):
                signed.append((transport, shop, sandbox))
        with app.app_context():
            if usual is None:
                db.create_all()
            else:
                usual.make_tables(db.engine)
                if "SQLALCHEMY_ENGINE_OPTIONS" not in config:
                    usual.share_statements(db.engine)
        opened.append(shop)
        return shop

    yield open_one
    for signatures, shop, sandbox in signed:
        signatures.check(shop, sandbox)
    for shop in opened:
        shop.runtime.client.close()
        with shop.app.app_context():
            for engine in shop.db.engines.values():
                engine.dispose()


def hear_payment(app: Flask, **facts: object) -> None:
    """The receiver that every shop needs; most tests need no effect of it."""


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop()


@pytest.fixture
def signals(paycheckout_signals: Signals) -> Signals:
    return paycheckout_signals


@pytest.fixture
def open_payer(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> OpenPayer:
    """Opens shops that pay out at the sandbox; settings as for `open_shop`."""

    def open_one(name: str = "shop", **config: Any) -> Payer:
        return Payer(open_shop(name, sandbox=paycheckout_sandbox, **config), paycheckout_sandbox)

    return open_one


@pytest.fixture
def payer(open_payer: OpenPayer) -> Payer:
    return open_payer()
