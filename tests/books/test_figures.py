"""Figures of a period by currency: sums of the books, and of started checkouts."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text, update

from flask_paycheckout import ByHand, Figures
from tests.books.test_alarms import orders
from tests.books.test_export import FEE, books
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.plans import plans, rows_taken
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database
JANUARY = ("2026-01-01", "2026-02-01")


def figures(shop: Shop, start: Any, end: Any, account: str | None = None) -> dict[str, Figures]:
    return {each.currency: each for each in shop.calls.figures(start, end, account)}


def test_payments_are_summed_by_method_and_local_day(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_TIME_ZONE="Asia/Tokyo")
    shop.clock.now = datetime(2026, 1, 1, 14, 0, tzinfo=UTC)
    shop.settles(shop.has_deposit("completed", "o-1", **FEE, paymentFiat={"bankCode": "014"}))
    shop.waits(hours=2)
    shop.settles(shop.has_deposit("completed", "o-2", **FEE))
    held_id = shop.has_held(*orders(shop))
    sums = figures(shop, *JANUARY)["USD"]
    assert (sums.taken, sums.payments, sums.fees) == (Decimal("25.00"), 2, Decimal("0.74"))
    assert sums.by_method == {"014": (1, Decimal("12.50")), "": (1, Decimal("12.50"))}
    assert sums.by_day == {date(2026, 1, 1): Decimal("12.50"), date(2026, 1, 2): Decimal("12.50")}
    assert sums.payments_by_day == {date(2026, 1, 1): 1, date(2026, 1, 2): 1}
    assert figures(shop, "2026-01-02", "2026-01-03")["USD"].payments == 1
    shop.resolves(held_id, accept=True)
    assert figures(shop, *JANUARY)["USD"].taken == Decimal("26.00"), "once it has paid its order"


def test_refunds_count_in_the_currency_that_was_paid_less_what_came_back(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    refunds(shop, checkout_id, "2.00", to=ByHand())
    back = refunds(shop, checkout_id, "3.00", to=ByHand())
    refunds(shop, checkout_id, "1.00", to=ByHand())
    assert figures(shop, *JANUARY)["USD"].refunded == Decimal("6.00")
    shop.calls.resolve_payout(back.reference, False, by="Ada", why="it was another customer")
    assert figures(shop, *JANUARY)["USD"].refunded == Decimal("3.00")
    books(shop, 1, "-0.90", kind="refund", currency="usdc-polygon", received="-1.00", received_currency="USD")
    sums = figures(shop, *JANUARY)
    assert (sums["USD"].refunded, "usdc-polygon" in sums) == (Decimal("4.00"), False)


@pytest.mark.on_each_database("pg8000")
def test_checkouts_without_money_are_unpaid_or_on_their_way(shop: Shop) -> None:
    shop.costs("100.00", now="30.00")
    shop.starts("o-1")
    shop.settles(shop.has_deposit("pending", "o-2"))
    shop.has_paid(*orders(shop))
    shop.costs("500", "n-1", currency="JPY")
    shop.starts("n-1")
    shop.clock.now = datetime(2026, 2, 1, tzinfo=UTC)
    shop.starts(*orders(shop))
    sums = figures(shop, *JANUARY)
    dollars, yen = sums["USD"], sums["JPY"]
    assert (dollars.begun, dollars.payments) == (3, 1)
    assert (dollars.unpaid, dollars.unpaid_amount) == (1, Decimal("30.00")), "what the checkout asked for"
    assert (dollars.on_its_way, dollars.on_its_way_amount) == (1, Decimal("12.50"))
    assert (yen.unpaid, yen.unpaid_amount, yen.taken, yen.by_day) == (1, Decimal(500), Decimal(0), {})


def test_one_account_has_its_own_figures(shop: Shop) -> None:
    shop.has_paid("o-1")
    shop.changes(shop.has_paid("o-2"), account="north")
    shop.executes(update(shop.runtime.models.bookings).filter_by(order_id="o-2").values(account="north"))
    assert figures(shop, *JANUARY, account="north")["USD"].payments == 1
    assert figures(shop, *JANUARY, account="north")["USD"].begun == 1
    assert figures(shop, *JANUARY, account="south") == {}


def test_a_row_of_another_program_counts_nothing(shop: Shop) -> None:
    shop.has_paid()
    for amount in ("5,0", "NaN", None):
        books(shop, 1, reference=str(amount), kind="payment", gross=amount)
    assert figures(shop, *JANUARY)["USD"].taken == Decimal("12.50")
    number: Any = 5
    for asked in (shop.calls.figures, shop.calls.books):
        with pytest.raises(ValueError, match="start must be before end"):
            asked("2026-02-01", "2026-01-01")
        with pytest.raises(TypeError, match="account must be a string, not int"):
            asked(*JANUARY, number)
    with pytest.raises(ValueError, match="None is no date or time"):
        figures(shop, None, None)


def test_no_row_outside_the_period_is_read(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    start = shop.clock.now
    shop.clock.now = datetime(2026, 3, 1, tzinfo=UTC)
    books(shop, 2000, kind="payment")
    shop.stores_like(
        checkout_id,
        [
            {"checkout_id": f"x-{n}", "order_id": f"x-{n}", "paid_order_id": None, "created_at": shop.clock.now}
            for n in range(2000)
        ],
    )
    with shop.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    with plans(shop.engine) as explained:
        sums = figures(shop, start.date().isoformat(), "2026-02-01")
    assert sums["USD"].begun == 1
    for statement, plan in explained:
        if shop.engine.dialect.name == "sqlite":
            assert "SCAN paycheckout" not in plan, statement
        else:
            assert rows_taken(plan) <= 2, statement
