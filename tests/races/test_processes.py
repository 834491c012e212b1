"""Several `flask paycheckout reconcile` at once on one database: each checkout is read by one of them, settled once."""

from __future__ import annotations

import json

import pytest

from flask_paycheckout import Pay
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.races.crowds import PATIENCE, begin
from tests.races.effects import add_effects, counts
from tests.races.service import WatchingService
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

PROCESSES, CHECKOUTS = 4, 60
COMMAND = ["-m", "flask", "--app", "tests.shop_app", "paycheckout", "reconcile", "--json"]


@pytest.fixture
def database(new_database: NewDatabase) -> str:
    return with_patience(new_database("processes"), 60)


@pytest.fixture
def shop(open_shop: OpenShop, database: str) -> Shop:
    return open_shop(prepare=add_effects, SQLALCHEMY_DATABASE_URI=database)


def test_reconcilers_share_the_reads_and_settle_each_checkout_once(
    shop: Shop, database: str, accounts: int, host: str
) -> None:
    orders = [f"p-{number}" for number in range(CHECKOUTS)]
    shop.totals |= dict.fromkeys(orders, Pay("12.50", "USD"))
    made = [shop.starts(order_id) for order_id in orders]
    service = WatchingService(PROCESSES)
    with service.running():
        running = [begin(COMMAND, database, service.url, number, host, accounts) for number in range(PROCESSES)]
        ended = [process.communicate(timeout=PATIENCE) for process in running]

    assert [process.returncode for process in running] == [0] * PROCESSES
    assert service.overlapping == []
    assert service.signed == {checkout_id: shop.attempt(checkout_id).account for checkout_id in made}
    assert len(set(service.signed.values())) == accounts
    assert dict(service.read) == dict.fromkeys(made, 1)
    assert len(service.readers) == PROCESSES, "they were at it at the same time"
    reports = [json.loads(output) for output, _ in ended]
    totals = {name: sum(report[name] for report in reports) for name in ("checked", "changed", "failed")}
    assert totals == {"checked": CHECKOUTS, "changed": CHECKOUTS, "failed": 0}
    assert [counts(shop, order_id) for order_id in orders] == [{"ship": 1}] * CHECKOUTS
    told = shop.events("order_paid")
    assert sorted(event.order_id for event in told) == sorted(orders)
    assert all(event.delivered_at and event.attempts == 1 for event in told)
