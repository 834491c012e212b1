"""Orders that several payments pay: each row of the table for parts, and the remaining amount."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout import (
    ByHand,
    OrderNotPayable,
    OrderSettled,
    Pay,
    Receive,
    order_paid,
)
from flask_paycheckout.payouts.refund_progress import RefundProgress, read_refunds
from flask_paycheckout.testing import Signals
from tests.alarming import urgent
from tests.payouts.shop import refunds
from tests.scripted import Shop, number, raising

TOTAL = Pay("100", "USD", parts=True)


@pytest.fixture
def shop(shop: Shop) -> Shop:
    shop.totals["o-1"] = TOTAL
    return shop


def pays(shop: Shop, amount: str) -> Any:
    return shop.settles(shop.has_arrived(amount))


def balance(shop: Shop) -> tuple[str, str, str] | None:
    balance_ = shop.calls.balance("o-1")
    return None if balance_ is None else (f"{balance_.paid:.2f}", f"{balance_.left:.2f}", balance_.currency)


def status(shop: Shop) -> str:
    return shop.calls.order_status("o-1")


@pytest.mark.on_each_database
def test_parts_pay_an_order_once_they_reach_its_total(shop: Shop, signals: Signals) -> None:
    assert balance(shop) is None
    assert pays(shop, "60").status == "part"
    assert (status(shop), balance(shop)) == ("part", ("60.00", "40.00", "USD"))
    assert (signals[-1].name, signals[-1].extra) == ("order_part_paid", {"paid": Decimal(60), "left": Decimal(40)})
    second = shop.attempt(shop.starts())
    assert (second.due, second.total) == (Pay("40", "USD"), TOTAL)
    assert shop.service.created[-1]["inputAmount"] == 40
    assert shop.settles(second.checkout_id, "completed", inputAmount=number("40.00")).status == "paid"
    assert (status(shop), balance(shop)) == ("paid", ("100.00", "0.00", "USD"))
    assert signals.names == ["checkout_created", "order_part_paid", "checkout_created", "order_paid"]
    with pytest.raises(OrderSettled):
        shop.starts()


@pytest.mark.parametrize("amount", ["0", "-60", "60.001", "1e-30"])
def test_an_amount_that_no_currency_has_is_no_part(shop: Shop, amount: str) -> None:
    assert (pays(shop, amount).status, shop.attempts()[0].reason) == ("held", "amount_mismatch")


@pytest.mark.parametrize(
    ("newest", "reason"),
    [
        (Pay("100", "EUR", parts=True), "order_changed"),
        (Receive("100", "USD", pay_in="USD"), "order_changed"),
        (None, "order_not_payable"),
    ],
)
def test_a_part_of_another_kind_of_total_is_held(shop: Shop, newest: Any, reason: str) -> None:
    checkout_id = shop.has_arrived("60")
    shop.totals["o-1"] = newest
    assert (shop.settles(checkout_id).status, shop.attempt(checkout_id).reason) == ("held", reason)


def test_a_refund_of_one_part_refunds_no_other(shop: Shop) -> None:
    first, last = (pays(shop, amount).checkout_id for amount in ("60", "40"))
    for part in (first, last):
        refunds(shop, part, "1", to=ByHand())
    progress = read_refunds(shop.runtime.payouts, shop.runtime.checkouts, "o-1")
    assert (progress.of_payment, progress.sums) == (False, {(RefundProgress.DONE, "USD"): Decimal(2)})


def test_parts_in_another_currency_than_the_total_are_not_reckoned_until_they_are_given_back(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    shop.costs("10", currency="EUR", parts=True)
    with pytest.raises(OrderNotPayable, match=r"cannot be set off against 10\.00 EUR"):
        shop.starts()
    assert balance(shop) is None
    refunds(shop, part, to=ByHand())
    assert balance(shop) == ("0.00", "10.00", "EUR")
    assert shop.attempt(shop.starts()).due == Pay("10", "EUR")


@pytest.mark.parametrize("first", ["60", "60.004"])
def test_an_order_is_reckoned_in_the_currency_that_paid_it(shop: Shop, first: str) -> None:
    """Of a part that was given back, less than a cent may be left, which nobody can give back."""
    part = pays(shop, first)
    if part.status == "held":
        shop.resolves(part.checkout_id, True, as_part=True)
    refunds(shop, part.checkout_id, to=ByHand())
    shop.costs("10", currency="EUR", parts=True)
    assert balance(shop) == ("0.00", "10.00", "EUR")
    paid = shop.has_arrived("10", inputCurrency="EUR")
    assert shop.settles(paid).status == "paid"
    assert balance(shop) == ("10.00", "0.00", "EUR")


def test_money_for_a_receive_is_a_part_by_what_the_customer_paid(shop: Shop) -> None:
    """The order got parts while its page was open."""
    shop.totals["o-1"] = Receive("10", "USD", pay_in="EUR")
    held_id = shop.has_arrived("9", inputCurrency="EUR", outputAmount=number("10"))
    shop.totals["o-1"] = Receive("20", "USD", pay_in="USD")
    part = shop.has_arrived("21", inputCurrency="USD", outputAmount=number("20"))
    shop.totals["o-1"] = TOTAL
    assert [shop.settles(each).status for each in (held_id, part)] == ["held", "part"]
    assert balance(shop) == ("21.00", "79.00", "USD")


def test_an_order_that_costs_nothing_any_more_is_paid_by_its_parts(shop: Shop, signals: Signals) -> None:
    part = pays(shop, "40").checkout_id
    shop.paycheckout.order_total(lambda order_id: Pay("0", "USD", parts=True))
    assert balance(shop) == ("40.00", "0.00", "USD")
    shop.reconciles()
    assert (signals.names[-2:], shop.attempt(part).excess) == (["order_paid", "payment_held"], "40")


def test_a_total_that_falls_is_seen_within_half_an_hour_however_old_the_part_is(shop: Shop) -> None:
    pays(shop, "60")
    shop.reconciles(days=90)
    shop.costs("60", parts=True)
    assert (shop.reconciles(minutes=30).changed, status(shop)) == (1, "paid")


@pytest.mark.parametrize(("newest", "to"), [("60", "paid"), ("100", "part"), ("59", "held")])
def test_parts_may_be_turned_on_while_a_page_is_open(shop: Shop, newest: str, to: str) -> None:
    shop.costs("60")
    checkout_id = shop.has_arrived("60")
    shop.costs(newest, parts=True)
    assert shop.settles(checkout_id).status == to


@pytest.mark.on_each_database
def test_order_total_may_ask_what_is_left(shop: Shop) -> None:
    """A shop that requires a deposit first does this."""

    @shop.paycheckout.order_total
    def order_total(order_id: str) -> Pay:
        paid = shop.paycheckout.balance(order_id)
        return Pay("100", "USD", now=None if paid else "30", parts=True)

    assert pays(shop, "30").status == "part"
    assert shop.attempt(shop.starts()).due == Pay("70", "USD")
    assert balance(shop) == ("30.00", "70.00", "USD")
    assert pays(shop, "70").status == "paid"


@pytest.mark.on_each_database
def test_a_receiver_that_fails_breaks_no_page_and_no_settlement_of_a_part(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    shop.costs("60", parts=True)
    with shop.refusing(order_paid):
        with shop.app.test_request_context():
            page = shop.paycheckout.status_url("o-1")
        assert shop.browser.get(page).status_code == 200
        assert shop.settles(part).status == "part"
        assert shop.reconciles().failed == 0, "it is tried again with back-off"
        for told in (shop.runs("show", "o-1").output, shop.runs("report").output):
            assert "refuse of order_paid failed: RuntimeError: not now" in told
    shop.reconciles(minutes=10)
    assert shop.attempt(part).status == "paid"
    assert "refuse of" not in shop.runs("report").output


def test_an_order_that_is_paid_in_parts_is_looked_at_no_more(shop: Shop) -> None:
    first = pays(shop, "60").checkout_id
    assert pays(shop, "40").status == "paid"
    assert shop.settles(first).next_read_at is None


def test_parts_of_an_order_whose_total_the_shop_cannot_say_are_reported(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    shop.paycheckout.order_total(raising(LookupError("a bug")))
    shop.reconciles(hours=1)
    assert shop.attempt(part).problem == "LookupError: a bug"
    assert "unsettled-payments" in urgent(shop)


@pytest.mark.parametrize("total", [Pay("90", "EUR", parts=True), Receive("90", "USD", pay_in="USD")])
def test_parts_of_an_order_that_no_payment_can_complete_are_reported(shop: Shop, total: Any) -> None:
    part = pays(shop, "60").checkout_id
    shop.totals["o-1"] = total
    shop.reconciles(hours=1)
    assert "parts were paid in USD" in shop.attempt(part).problem
    assert "unsettled-payments" in urgent(shop)
    if isinstance(total, Receive):
        shop.totals["o-1"] = TOTAL
    else:
        shop.calls.keep(part, by="Ada", why="sold by hand")
    shop.reconciles(hours=1)
    assert (shop.attempt(part).problem, "unsettled-payments" in urgent(shop)) == (None, False)


def test_order_total_may_ask_what_is_left_of_another_order_by_its_newest_total(shop: Shop) -> None:
    pays(shop, "60")
    shop.costs("90", parts=True)
    balances: list[Any] = []

    def order_total(order_id: str) -> Any:
        found = shop.paycheckout.balance("o-1")
        balances.append((order_id, found and found.left))
        return shop.totals[order_id]

    shop.paycheckout.order_total(order_total)
    shop.starts("o-2")
    assert balances == [("o-1", Decimal(40)), ("o-2", Decimal(30))]
