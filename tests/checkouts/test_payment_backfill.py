"""The backfill of payments that older versions stored without the received money; nothing else changes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select, update

from flask_paycheckout import Amount, Pay
from flask_paycheckout.checkouts.payment_backfill import BackfillReport
from flask_paycheckout.operations.app import AppOperations
from flask_paycheckout.store.payments import PAYMENT_COLUMNS
from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.test_cli import runs

pytestmark = pytest.mark.on_each_database


def as_before(shop: Shop) -> dict[str, dict[str, Any]]:
    """Makes the rows what an older version left; gives them."""
    with shop.runtime.engine().begin() as connection:
        connection.execute(update(shop.runtime.models.checkouts).values(dict.fromkeys(PAYMENT_COLUMNS)))
    return rows(shop)


def rows(shop: Shop) -> dict[str, dict[str, Any]]:
    table = shop.runtime.models.checkouts
    with shop.runtime.engine().connect() as connection:
        return {row["checkout_id"]: dict(row) for row in connection.execute(select(table)).mappings()}


def fills(shop: Shop, **options: Any) -> BackfillReport:
    with shop.app.app_context():
        return AppOperations(shop.runtime).fill_payments(**{"limit": None, "after": 0} | options)


def settled(shop: Shop) -> tuple[str, str, str]:
    """A paid, a held and a rejected checkout, and one that is still open."""
    shop.totals |= {name: Pay("12.50", "USD") for name in ("o-3", "o-4")}
    paid, held, rejected = shop.has_paid("o-1"), shop.has_held("o-2"), shop.has_held("o-3")
    shop.resolves(rejected, accept=False)
    shop.service.says(shop.starts("o-4"), "pending")
    return paid, held, rejected


def test_only_the_payment_is_filled_in_and_its_time_is_when_it_was_seen_first(shop: Shop) -> None:
    checkouts = settled(shop)
    seen_at = shop.clock.now
    before = as_before(shop)
    events = len(shop.events())
    shop.clock.advance(days=30)
    assert fills(shop) == BackfillReport(filled=3, after=3)
    for checkout_id, row in rows(shop).items():
        kept = {name: value for name, value in row.items() if name not in PAYMENT_COLUMNS}
        assert kept == {name: before[checkout_id][name] for name in kept}
    payments = [shop.attempt(checkout_id).payment for checkout_id in checkouts]
    assert [payment.paid for payment in payments] == [
        Amount(Decimal("12.50"), "USD"),
        Amount(Decimal("1"), "USD"),
        Amount(Decimal("1"), "USD"),
    ]
    assert {payment.completed_at for payment in payments} == {seen_at}
    assert shop.attempt("chk-4").payment is None
    assert len(shop.events()) == events
    assert fills(shop) == BackfillReport(), "nothing is left to do"


def test_what_cannot_be_read_or_reads_otherwise_is_left_and_said(shop: Shop) -> None:
    paid, held, rejected = settled(shop)
    as_before(shop)
    shop.service.fails(paid)
    shop.service.says(held, "completed", depositId="chk-404")
    shop.service.says(rejected, "pending")
    ran = runs(shop, "fill-payments")
    assert ran.exit_code == 1
    assert "filled 0, unreadable 1, not completed 2" in ran.output
    assert [shop.attempt(checkout_id).payment for checkout_id in (paid, held, rejected)] == [None] * 3
    assert "fill-payments --after 3" in ran.output
    assert runs(shop, "fill-payments", "--after", "3").exit_code == 0


def test_it_goes_on_where_it_was_stopped(shop: Shop) -> None:
    settled(shop)
    as_before(shop)
    assert fills(shop, limit=2) == BackfillReport(filled=2, after=2)
    ran = runs(shop, "fill-payments", "--json")
    assert (ran.exit_code, ran.stdout) == (
        0,
        '{"filled": 1, "unreadable": 0, "differing": 0, "stopped": false, "after": 3}\n',
    )


def test_an_outage_ends_it_early(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_RECONCILE_READERS=1)
    for number in range(8):
        shop.totals[f"m-{number}"] = Pay("12.50", "USD")
        shop.service.fails(shop.has_paid(f"m-{number}"))
    as_before(shop)
    shop.service.reads.clear()
    ran = runs(shop, "fill-payments")
    assert (ran.exit_code, len(shop.service.reads)) == (1, 5)
    assert "Go on later with: flask paycheckout fill-payments --after" in ran.output
