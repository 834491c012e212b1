"""A shop in production: gunicorn, Celery, migrations, the owner's commands, logs."""

from __future__ import annotations

import configparser
import json
import logging
import re
import shlex
import signal
from typing import Any
from uuid import uuid4

import pytest
import requests
from alembic.migration import MigrationContext
from alembic.operations.ops import DropTableOp
from flask import Flask
from sqlalchemy import MetaData, create_engine, make_url, text

from flask_paycheckout import PayCheckout
from tests.databases.servers import POOLED
from tests.docs.merchant import BIN, PATIENCE, Merchant, shop_source, visited
from tests.docs.pages import Scene, read
from tests.scripted import Shop
from tests.test_migrations import MigratingMerchant
from tests.waiting import eventually

MAKE_ORDER = "python -c \"from shop import *; app.app_context().push(); db.create_all(); db.session.add(Order(id='1', total='12.50')); db.session.commit()\""  # noqa: E501
# The second order's payment is due to be read.
START_TWO = """
from datetime import UTC, datetime
from shop import *

app.app_context().push()
db.create_all()
db.session.add_all(Order(id=order_id, total="12.50") for order_id in "12")
db.session.commit()
print(*(paycheckout.start(order_id).checkout_id for order_id in "12"))
due = {"next_read_at": datetime(2026, 1, 1, tzinfo=UTC)}
db.session.query(paycheckout.Checkout).filter_by(order_id="2").update(due)
db.session.commit()
"""
NGINX = {"$remote_addr": "203.0.113.7", "$scheme": "https", "$host": "shop.example"}
SANDBOX = "python -m flask_paycheckout.sandbox --control-token control"


def production(scene: Scene, merchant: Merchant, postgres_database: str) -> None:
    """A payment with the page's settings, proxy headers, gunicorn and systemd unit, on PostgreSQL."""
    install, load, doctor, serve = scene.commands()
    assert install == "pip install '../flask_paycheckout[postgres]' gunicorn flask-migrate"
    merchant.writes("shop.py", f"{shop_source()}\n{scene['proxy.py']}")
    merchant.writes("shop.env", _filled_in(scene["shop.env"], postgres_database, merchant.service))

    def loaded(line: str) -> str:
        return f"{load}; exec {line}"

    # The shop would refuse a form from another address than the proxy's visitors see.
    headers = {name: NGINX[value] for name, value in re.findall(r"proxy_set_header (\S+) (\S+);", scene["nginx.conf"])}
    address = merchant.here("http://127.0.0.1:8000")
    assert f"proxy_pass {address};" in merchant.here(scene["nginx.conf"])
    with merchant.running(SANDBOX, "Ctrl-C"):
        merchant.runs(loaded(MAKE_ORDER))
        report = merchant.runs(loaded(doctor))
        assert "postgresql answers" in report
        assert "https://shop.example/paycheckout/webhook/a-hook-path-of-many-letters" in report
        # One worker is enough for the test, and four start slowly.
        with merchant.running(loaded(serve.replace("--workers 4", "--workers 1")), "Booting worker"):
            form = re.search(r'action="([^"]+)"', visited(f"{address}/orders/1", headers).text)
            assert form is not None
            from_shop = headers | {"Origin": "https://shop.example"}
            answer = requests.post(address + form[1], headers=from_shop, allow_redirects=False, timeout=60)
            page = answer.headers["Location"]
            assert (answer.status_code, page.startswith(merchant.service)) == (303, True)
            poisoned = headers | {"X-Forwarded-Host": "evil.example"}
            assert visited(f"{address}/orders/1", poisoned).status_code == 400
            _pay(merchant, page.rsplit("/", 1)[1])
            _reconcile_finds_it(scene["shop-reconcile.service"], merchant, load, f"{address}/orders/1", headers)


def _filled_in(text: str, database: str, service: str) -> str:
    """The page's settings, filled in as described, with only the additions for a sandbox as the service."""
    values = {
        "SECRET_KEY": "0123456789abcdef-of-this-test",
        "SQLALCHEMY_DATABASE_URI": database,
        "PAYCHECKOUT_BASE_URL": service,
        "PAYCHECKOUT_CHECKOUT_ORIGINS": service,
        "PAYCHECKOUT_CLIENT_ID": "sandbox-client",
        "PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
        "PAYCHECKOUT_WEBHOOK_SECRET": "a-hook-path-of-many-letters",
    }
    for name, value in values.items():
        text, count = re.subn(rf"(?m)^FLASK_{name}=.*$", f'FLASK_{name}="{value}"', text)
        assert count == 1, f"FLASK_{name} is not in shop.env"
    return f"{text}FLASK_PAYCHECKOUT_ALLOW_SANDBOX=1\n"


def _pay(merchant: Merchant, checkout_id: str) -> None:
    url, control = f"{merchant.service}/_sandbox/checkouts/{checkout_id}/pay", {"X-Sandbox-Control": "control"}
    requests.post(url, json={}, headers=control, timeout=60).raise_for_status()


def _reconcile_finds_it(unit_file: str, merchant: Merchant, load: str, order: str, headers: dict[str, str]) -> None:
    """Run the unit's command until the order is paid, and stop it as systemd does."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd minds capitals
    unit.read_string(unit_file)
    service = unit["Service"]
    assert service["EnvironmentFile"] == f"{service['WorkingDirectory']}/shop.env"
    program, *arguments = shlex.split(service["ExecStart"])
    assert program == f"{service['WorkingDirectory']}/.venv/bin/flask"
    reconcile = merchant.starts(f"{load}; exec {shlex.join([str(BIN / 'flask'), *arguments])}")
    try:
        eventually(lambda: "Paid" in visited(order, headers).text, PATIENCE)
        reconcile.send_signal(signal.SIGTERM)
        assert reconcile.wait(60) == 0
    finally:
        reconcile.kill()
        reconcile.communicate(timeout=60)


def celery(scene: Scene, merchant_with_shop: Merchant, broker: Any) -> None:
    """A webhook becomes a worker's task, and beat finds a payment without a webhook."""
    merchant, (worker,) = merchant_with_shop, scene.commands()
    source = scene["celery.py"].replace("redis://localhost", broker.url).replace('"schedule": 10', '"schedule": 1')
    assert source.count(broker.url) == source.count('"schedule": 1,') == 1
    merchant.writes("shop.py", f"{shop_source()}\n{source}")
    merchant.environment["FLASK_PAYCHECKOUT_DEFER_WEBHOOKS"] = "1"
    with merchant.running(SANDBOX, "Ctrl-C"):
        told, untold = merchant.runs_program(START_TWO).split()
        for checkout_id in (told, untold):
            _pay(merchant, checkout_id)
        assert merchant.runs_program(_HOOK.format(checkout_id=told)) == "200 OK\n"
        # The webhook's task is first in the queue.
        with merchant.running(f"exec {worker} --concurrency 1 --loglevel INFO", " ready."):
            _becomes_paid(merchant, "1", "webhook")
            _becomes_paid(merchant, "2", "reconcile")


_HOOK = """
from shop import app
print(app.test_client().post("/paycheckout/webhook", json={{"orderId": "{checkout_id}"}}).status)
"""


def _becomes_paid(merchant: Merchant, order_id: str, found_by: str) -> None:
    def story() -> Any:
        return json.loads(merchant.runs(f"flask --app shop paycheckout show {order_id} --json"))

    # No receiver listens to the other events.
    eventually(
        lambda: [event["name"] for event in story()["events"] if event["delivered_at"]] == ["order_paid"], PATIENCE
    )
    assert [attempt["found_by"] for attempt in story()["attempts"]] == [found_by]


def migrations(scene: Scene) -> None:
    """tests/test_migrations.py runs these blocks on each database."""
    assert scene.commands()
    compile(scene["migrate.py"], "migrate.py", "exec")


def preload(scene: Scene) -> None:
    """tests/availability/test_forks.py serves a shop with it, whose workers share no connection."""
    compile(scene["gunicorn.conf.py"], "gunicorn.conf.py", "exec")


def database_limits(scene: Scene, postgres_database: str) -> None:
    """tests/databases/test_slow.py shows what a limit does."""
    engine = create_engine(postgres_database, isolation_level="AUTOCOMMIT")
    role = f"shop_{uuid4().hex}"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {role}")
        try:
            for statement in scene["limits.sql"].splitlines():
                connection.exec_driver_sql(statement.replace("ROLE shop ", f"ROLE {role} "))
            limits = text("SELECT rolconfig FROM pg_roles WHERE rolname = :role")
            value = connection.execute(limits, {"role": role}).scalar_one()
            assert [limit.partition("=")[2] for limit in value] == ["10s", "30s", "5min"]
        finally:
            connection.exec_driver_sql(f"DROP ROLE {role}")
    engine.dispose()


def pooler(scene: Scene) -> None:
    """tests/databases/ starts PgBouncer with these settings, except ports, users and a smaller pool."""
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(scene["pgbouncer.ini"])
    assert config["pgbouncer"]["pool_mode"] == "transaction"
    settings = _environment(scene["shop.env"])
    assert make_url(settings["FLASK_SQLALCHEMY_DATABASE_URI"]).port == config["pgbouncer"].getint("listen_port")
    assert json.loads(settings["FLASK_SQLALCHEMY_ENGINE_OPTIONS"]) == POOLED


def failover(scene: Scene, postgres_database: str) -> None:
    """Connect to the tests' server with the options of the address; tests/databases/test_failover.py fails over."""
    address = make_url(_environment(scene["shop.env"])["FLASK_SQLALCHEMY_DATABASE_URI"])
    assert (address.query["host"], address.query["port"]) == ("db-1.internal,db-2.internal", "5432,5432")
    options = {name: value for name, value in address.query.items() if name not in ("host", "port")}
    engine = create_engine(make_url(postgres_database).update_query_dict(options))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW transaction_read_only").scalar_one() == "off"
    engine.dispose()


def _environment(text: str) -> dict[str, str]:
    """The values of a file for `set -a`."""
    return dict(line.split("=", 1) for line in shlex.split(text, comments=True))


def upgrade(scene: Scene, shop: Shop, merchant: Merchant) -> None:
    """The page's commands upgrade tables without an index to this version, and check the shop afterwards."""
    shop.has_paid("o-1")
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_paycheckout_checkout_state"))
    migrating = MigratingMerchant(merchant.folder, shop.app.config["SQLALCHEMY_DATABASE_URI"])
    migrating.writes_shop()
    migrating.runs("flask --app shop db init")
    for line in scene.commands():
        migrating.runs(line, code=None if " paycheckout " in line else 0)
    assert migrating.is_clean()
    assert "Order o-1: paid." in migrating.runs("flask --app shop paycheckout show o-1")


def keep_tables(scene: Scene, shop: Shop) -> None:
    """The next automatic migration after a removal drops the tables, unless the page's lines prevent it."""
    names: dict[str, Any] = {"Migrate": lambda app, db, **options: options, "app": None, "db": None}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    ours = {table for table in shop.db.metadata.tables if table.startswith("paycheckout_")}
    assert _dropped(shop) >= ours
    assert not _dropped(shop, **names["migrate"]) & ours


def _dropped(shop: Shop, **options: Any) -> set[str]:
    from alembic.autogenerate import produce_migrations

    with shop.app.app_context(), shop.db.engine.begin() as connection:
        script = produce_migrations(MigrationContext.configure(connection, opts=options), MetaData())
    assert script.upgrade_ops is not None
    return {change.table_name for change in script.upgrade_ops.ops if isinstance(change, DropTableOp)}


def logs(scene: Scene, shop: Shop, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("flask_paycheckout")
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate

    def restore() -> None:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)

    request.addfinalizer(restore)
    exec(scene.code(), {})  # noqa: S102 - the page's own code
    shop.service.fails(shop.starts())
    shop.reconciles()
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"[\d-]+ [\d:,]+ WARNING flask_paycheckout: checkout chk-1 of order o-1 could not be read: .*", line
    )


def access_log(scene: Scene, merchant: Merchant) -> None:
    config = scene["gunicorn.conf.py"]
    [secret] = re.findall("SECRET = .*", config)
    assert secret in read("docs/beside-other-tools.md")
    merchant.writes("gunicorn.conf.py", config)
    app = "def app(environ, start_response):\n    start_response('200 OK', [])\n    return [b'ok']\n"
    merchant.writes("bare.py", app)
    owner = Flask("shop", static_folder=None)
    owner.register_blueprint(PayCheckout().owner_view(lambda: "Ada"), url_prefix="/owner/payments")
    address = merchant.here("127.0.0.1:8000")
    process = merchant.starts(f"gunicorn --bind {address} bare:app")
    try:
        root = f"http://{address}/paycheckout"
        for path in (
            "webhook/hook-hushed",
            "orders/token-hushed",
            "orders/token-hushed/checkout?x=1",
            *(rule.rule.lstrip("/").replace("<token>", "form-hushed") for rule in owner.url_map.iter_rules()),
        ):
            assert visited(f"{root}/{path}", {"Referer": f"{root}/orders/referrer-hushed"}).status_code == 200
    finally:
        process.terminate()
        log, _ = process.communicate(timeout=60)
    assert "hushed" not in log
    assert log.count("/paycheckout/webhook/***") == 1
    assert "GET /paycheckout/orders/***/checkout?x=1 HTTP/1.1" in log
