"""Concurrent rounds of several processes: one of them reads each checkout, which is settled once.

Several shops on one database stand for the processes.
"""

from __future__ import annotations

from collections import Counter
from threading import Barrier, get_ident
from typing import Any

import pytest

from flask_paycheckout import Pay, order_paid
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.races.crowds import PATIENCE, crowd
from tests.races.effects import Writer, add_effects, counts

pytestmark = pytest.mark.on_each_database

PROCESSES, CHECKOUTS = 4, 60


def test_rounds_at_once_share_the_reads_and_settle_each_checkout_once(
    open_shop: OpenShop, new_database: NewDatabase
) -> None:
    address = with_patience(new_database("processes"), 60)
    config: dict[str, Any] = {"PAYCHECKOUT_RECONCILE_READERS": 1, "SQLALCHEMY_DATABASE_URI": address}
    shops = [open_shop(prepare=add_effects, **config) for _ in range(PROCESSES)]
    first, reading, everybody = shops[0], set[int](), Barrier(PROCESSES, timeout=PATIENCE)
    orders = [f"p-{number}" for number in range(CHECKOUTS)]
    first.totals |= dict.fromkeys(orders, Pay("12.50", "USD"))
    checkouts = [first.has_deposit("completed", order_id) for order_id in orders]

    def meanwhile() -> None:
        """Answer no read before each process has a read under way."""
        if get_ident() not in reading:
            reading.add(get_ident())
            everybody.wait()

    first.service.meanwhile = meanwhile
    for shop in shops:
        shop.paycheckout.order_total(first.totals.get)
        order_paid.connect(Writer(shop, "ship"), sender=shop.app, weak=False)
    with crowd(PROCESSES) as processes:
        reports = processes.does([shop.reconciles for shop in shops])

    assert Counter(first.service.reads) == dict.fromkeys(checkouts, 1)
    totals = {name: sum(getattr(report, name) for report in reports) for name in ("checked", "changed", "failed")}
    assert totals == {"checked": CHECKOUTS, "changed": CHECKOUTS, "failed": 0}
    assert [counts(first, order_id) for order_id in orders] == [{"ship": 1}] * CHECKOUTS
    events = first.events("order_paid")
    assert sorted(event.order_id for event in events) == sorted(orders)
    assert all(event.delivered_at and event.attempts == 1 for event in events)
