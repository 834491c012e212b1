"""Orders that several payments pay: each row of the table for parts, what is left, and what came too much."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import String
from sqlalchemy.orm import mapped_column

from flask_paycheckout import (
    ByHand,
    CheckoutMixin,
    OrderNotPayable,
    OrderSettled,
    Pay,
    Receive,
    RefundTooLarge,
    TransitionRefused,
    order_paid,
    payment_held,
)
from flask_paycheckout.payouts.refund_progress import RefundProgress, read_refunds
from flask_paycheckout.testing import Signals
from tests.alarming import examples, urgent
from tests.conftest import OpenShop
from tests.payouts.shop import decides, refunds
from tests.scripted import Shop, number

pytestmark = pytest.mark.on_each_database
TOTAL = Pay("100", "USD", parts=True)


@pytest.fixture
def shop(shop: Shop) -> Shop:
    shop.totals["o-1"] = TOTAL
    return shop


def arrives(shop: Shop, amount: str) -> str:
    """Another checkout is started, and this amount arrives for it; nobody has read it."""
    return shop.has_deposit("completed", inputAmount=number(amount))


def pays(shop: Shop, amount: str) -> Any:
    return shop.settles(arrives(shop, amount))


def balance(shop: Shop) -> tuple[str, str, str] | None:
    with shop.app.app_context():
        found = shop.paycheckout.balance("o-1")
    return None if found is None else (f"{found.paid:.2f}", f"{found.left:.2f}", found.currency)


def status(shop: Shop) -> str:
    with shop.app.app_context():
        return shop.paycheckout.order_status("o-1")


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


@pytest.mark.parametrize("before", ["created", "pending", "abandoned"])
@pytest.mark.parametrize(("amount", "to"), [("99.99", "part"), ("100.00", "paid"), ("100.01", "held")])
def test_what_arrives_is_a_part_unless_nothing_or_too_much_is_left(
    shop: Shop, before: str, amount: str, to: str
) -> None:
    checkout_id = shop.starts()
    if before == "pending":
        shop.settles(checkout_id, "pending")
    elif before == "abandoned":
        shop.abandons(checkout_id)
    settled = shop.settles(checkout_id, "completed", inputAmount=number(amount))
    assert (settled.status, settled.reason) == (to, "amount_mismatch" if to == "held" else None)


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
    checkout_id = arrives(shop, "60")
    shop.totals["o-1"] = newest
    assert (shop.settles(checkout_id).status, shop.attempt(checkout_id).reason) == ("held", reason)


def test_a_deposit_asks_for_its_amount_and_then_for_the_rest(shop: Shop) -> None:
    shop.totals["o-1"] = asked = Pay("100", "USD", now="50")
    first = shop.attempt(shop.starts())
    assert (first.due, first.total, asked.parts) == (Pay("50", "USD"), asked, True)
    assert shop.settles(first.checkout_id, "completed", inputAmount=number("50")).status == "part"
    # As shops write it that keep the flag with the deposit alone.
    shop.totals["o-1"] = Pay("100", "USD")
    assert shop.attempt(shop.starts()).due == Pay("50", "USD")


def test_a_payment_after_the_last_part_is_a_duplicate(shop: Shop) -> None:
    late = shop.starts()
    shop.totals["o-1"] = Pay("100", "USD", now="60")
    assert [pays(shop, amount).status for amount in ("60", "40")] == ["part", "paid"]
    assert shop.settles(late, "completed", inputAmount=number("10")).reason == "duplicate"


def test_a_refund_of_a_part_makes_more_be_left(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    back = refunds(shop, part, "20")
    assert balance(shop) == ("40.00", "60.00", "USD")
    assert shop.attempt(shop.starts()).due == Pay("60", "USD")
    decides(shop, "cancel", back.reference)
    assert balance(shop) == ("60.00", "40.00", "USD")
    refunds(shop, part, "60")
    assert (balance(shop), shop.attempt(part).status) == (("0.00", "100.00", "USD"), "part")
    assert pays(shop, "100").status == "paid"


@pytest.mark.parametrize("seen_by", ["settlement", "reconcile", "start"])
def test_a_total_that_falls_to_what_was_paid_pays_the_order(shop: Shop, signals: Signals, seen_by: str) -> None:
    first, second = (pays(shop, amount).checkout_id for amount in ("20", "40"))
    shop.totals["o-1"] = Pay("60", "USD", parts=True)
    if seen_by == "settlement":
        assert shop.settles(first).status == "part"
    elif seen_by == "reconcile":
        assert shop.reconciles().changed == 1
    else:
        with pytest.raises(OrderSettled):
            shop.starts()
    assert [attempt.status for attempt in shop.attempts()][:2] == ["part", "paid"]
    assert (signals[-1].name, signals[-1].checkout_id, balance(shop)) == (
        "order_paid",
        second,
        ("60.00", "0.00", "USD"),
    )
    assert shop.reconciles().changed == 0
    assert not examples(shop, "money-to-pay-back")


def test_an_excess_is_told_and_listed_until_it_is_refunded(shop: Shop, signals: Signals) -> None:
    first, second = (pays(shop, amount).checkout_id for amount in ("50", "10"))
    shop.totals["o-1"] = Pay("35", "USD", parts=True)
    shop.reconciles()
    assert signals.names[-2:] == ["order_paid", "payment_held"]
    assert (signals[-1].checkout_id, signals[-1].extra) == (second, {"reason": "excess"})
    assert shop.attempt(second).status == "paid"
    (listed,) = examples(shop, "excess-payments")
    assert "25.00 USD" in listed
    refunds(shop, second, "10")
    assert "15.00 USD" in examples(shop, "excess-payments")[0]
    back = refunds(shop, first, "15")
    assert not examples(shop, "excess-payments")
    decides(shop, "cancel", back.reference)
    assert "15.00 USD" in examples(shop, "excess-payments")[0]
    with shop.app.app_context():
        shop.paycheckout.keep(second, by="Ada", why="a gift")
    assert not examples(shop, "excess-payments")
    assert balance(shop) == ("50.00", "0.00", "USD")
    refunds(shop, first, "1")
    assert not examples(shop, "excess-payments"), "it stays kept"


def test_a_refund_of_one_part_refunds_no_other(shop: Shop) -> None:
    first, last = (pays(shop, amount).checkout_id for amount in ("60", "40"))
    for part in (first, last):
        refunds(shop, part, "1", to=ByHand())
    progress = read_refunds(shop.runtime.payouts, shop.runtime.checkouts, "o-1")
    assert (progress.of_payment, progress.sums) == (False, {(RefundProgress.DONE, "USD"): Decimal(2)})


def test_a_cancelled_refund_may_reach_the_total(shop: Shop) -> None:
    back = refunds(shop, pays(shop, "60").checkout_id, "10")
    shop.totals["o-1"] = Pay("60", "USD", parts=True)
    assert shop.reconciles().changed == 0
    decides(shop, "cancel", back.reference)
    assert (shop.reconciles().changed, status(shop)) == (1, "paid")


def test_a_person_accepts_a_part(shop: Shop, signals: Signals) -> None:
    shop.totals["o-1"] = Pay("100", "USD")
    held = pays(shop, "60").checkout_id
    assert shop.resolves(held, True, as_part=True).status == "part"
    assert signals.names[-2:] == ["payment_resolved", "order_part_paid"]
    assert signals[-1].extra == {"paid": Decimal(60), "left": Decimal(40)}
    # The order counts as one with parts from then on.
    assert shop.attempt(shop.starts()).due == Pay("40", "USD")
    assert pays(shop, "10").status == "part"
    more = pays(shop, "31").checkout_id
    ways: list[dict[str, Any]] = [{"as_part": True}, {}]
    for how in ways:
        with pytest.raises(TransitionRefused, match="more arrived than is left"):
            shop.resolves(more, True, **how)
    assert shop.resolves(more, True, as_part=True, refund_excess=True).status == "paid"
    assert balance(shop) == ("100.00", "0.00", "USD")
    assert signals.names[-3:] == ["payment_resolved", "order_paid", "claim_wanted"]
    refund = shop.runtime.payouts.of_checkout(more)[0]
    assert (refund.amount, refund.status) == (Decimal("1.00"), "claimable")
    assert not examples(shop, "money-to-pay-back")


def test_who_hears_of_an_excess_sees_what_the_receivers_of_the_payment_wrote(open_shop: OpenShop) -> None:
    def own(db: SQLAlchemy) -> None:
        type("Payment", (CheckoutMixin, db.Model), {"note": mapped_column(String(20))})

    shop, seen = open_shop(prepare=own), list[str]()

    def write(app: object, *, checkout: Any, **facts: object) -> None:
        checkout.note = "packed"

    def look(app: object, *, checkout: Any, **facts: object) -> None:
        seen.append(checkout.note)

    shop.totals["o-1"] = TOTAL
    for amount in ("50", "10"):
        pays(shop, amount)
    shop.totals["o-1"] = Pay("35", "USD", parts=True)
    atomic, app = shop.paycheckout.atomic, shop.app
    with order_paid.connected_to(atomic(write), sender=app), payment_held.connected_to(atomic(look), sender=app):
        shop.reconciles()
    assert seen == ["packed"]


@pytest.mark.parametrize("accepted", [{}, {"refund_excess": True}], ids=["kept", "given back"])
def test_what_came_too_much_for_an_order_without_parts(shop: Shop, accepted: dict[str, Any]) -> None:
    shop.totals["o-1"] = Pay("100", "USD")
    held = pays(shop, "112.50").checkout_id
    assert shop.resolves(held, True, **accepted).status == "paid"
    assert [refund.amount for refund in shop.runtime.payouts.of_checkout(held)] == [Decimal("12.50")] * len(accepted)
    with pytest.raises(RefundTooLarge):
        refunds(shop, held, "113" if not accepted else "100.01")


def test_an_excess_and_its_refund_are_one_commit(shop: Shop) -> None:
    held = pays(shop, "101").checkout_id

    @order_paid.connect_via(shop.app)
    @shop.paycheckout.atomic
    def fails(app: object, **facts: object) -> None:
        raise RuntimeError("no")

    with pytest.raises(Exception, match="RuntimeError"):
        shop.resolves(held, True, refund_excess=True)
    assert (shop.attempt(held).status, shop.runtime.payouts.of_checkout(held)) == ("held", [])


def test_parts_in_another_currency_than_the_total_are_not_reckoned_until_they_are_given_back(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    shop.totals["o-1"] = Pay("10", "EUR", parts=True)
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
    shop.totals["o-1"] = Pay("10", "EUR", parts=True)
    assert balance(shop) == ("0.00", "10.00", "EUR")
    paid = shop.has_deposit("completed", inputAmount=number("10"), inputCurrency="EUR")
    assert shop.settles(paid).status == "paid"
    assert balance(shop) == ("10.00", "0.00", "EUR")


def test_money_for_a_receive_is_a_part_by_what_the_customer_paid(shop: Shop) -> None:
    """The order became one with parts while its page was open."""
    shop.totals["o-1"] = Receive("10", "USD", pay_in="EUR")
    held = shop.has_deposit("completed", inputAmount=number("9"), inputCurrency="EUR", outputAmount=number("10"))
    shop.totals["o-1"] = Receive("20", "USD", pay_in="USD")
    part = shop.has_deposit("completed", inputAmount=number("21"), inputCurrency="USD", outputAmount=number("20"))
    shop.totals["o-1"] = TOTAL
    assert [shop.settles(each).status for each in (held, part)] == ["held", "part"]
    assert balance(shop) == ("21.00", "79.00", "USD")


def test_an_order_that_costs_nothing_any_more_is_paid_by_its_parts(shop: Shop, signals: Signals) -> None:
    part = pays(shop, "40").checkout_id

    @shop.paycheckout.order_total
    def free(order_id: str) -> Pay:
        return Pay("0", "USD", parts=True)

    assert balance(shop) == ("40.00", "0.00", "USD")
    shop.reconciles()
    assert (signals.names[-2:], shop.attempt(part).excess) == (["order_paid", "payment_held"], "40")


def test_a_total_that_falls_is_seen_within_half_an_hour_however_old_the_part_is(shop: Shop) -> None:
    pays(shop, "60")
    shop.clock.advance(days=90)
    shop.reconciles()
    shop.totals["o-1"] = Pay("60", "USD", parts=True)
    shop.clock.advance(minutes=30)
    assert (shop.reconciles().changed, status(shop)) == (1, "paid")


@pytest.mark.parametrize(("newest", "to"), [("60", "paid"), ("100", "part"), ("59", "held")])
def test_parts_may_be_turned_on_while_a_page_is_open(shop: Shop, newest: str, to: str) -> None:
    shop.totals["o-1"] = Pay("60", "USD")
    checkout_id = arrives(shop, "60")
    shop.totals["o-1"] = Pay(newest, "USD", parts=True)
    assert shop.settles(checkout_id).status == to


@pytest.mark.parametrize("arrives", ["50", "50.009"])
def test_an_excess_that_is_larger_than_the_payment_gives_back_all_of_it(shop: Shop, arrives: str) -> None:
    """The total fell below what had arrived before it; nobody can give back less than a cent."""
    pays(shop, "60")
    held = pays(shop, arrives).checkout_id
    shop.totals["o-1"] = Pay("30", "USD", parts=True)
    shop.resolves(held, True, refund_excess=True)
    assert [refund.amount for refund in shop.runtime.payouts.of_checkout(held)] == [Decimal("50.00")]
    assert "30.00 USD" in examples(shop, "excess-payments")[0]


def test_the_part_that_arrived_last_pays_the_order(shop: Shop, signals: Signals) -> None:
    early = shop.starts()
    shop.totals["o-1"] = Pay("90", "USD", parts=True)
    late = arrives(shop, "40")
    shop.settles(late)
    shop.clock.advance(minutes=1)
    assert shop.settles(early, "completed", inputAmount=number("10")).status == "part"
    shop.totals["o-1"] = Pay("50", "USD", parts=True)
    shop.reconciles()
    assert (signals[-1].name, signals[-1].checkout_id) == ("order_paid", early)


def test_a_person_accepts_a_part_with_more_decimals_than_its_currency_has(shop: Shop) -> None:
    held = pays(shop, "60.009").checkout_id
    assert shop.resolves(held, accept=True, as_part=True).status == "part"
    assert shop.attempt(shop.starts()).due == Pay("39.99", "USD")
    assert pays(shop, "39.99").status == "paid", "less than a cent is left"


def test_order_total_may_ask_what_is_left(shop: Shop) -> None:
    """As a shop does that wants a deposit first."""

    @shop.paycheckout.order_total
    def order_total(order_id: str) -> Pay:
        paid = shop.paycheckout.balance(order_id)
        return Pay("100", "USD", now=None if paid else "30", parts=True)

    assert pays(shop, "30").status == "part"
    assert shop.attempt(shop.starts()).due == Pay("70", "USD")
    assert balance(shop) == ("30.00", "70.00", "USD")
    assert pays(shop, "70").status == "paid"


def test_a_receiver_that_fails_breaks_no_page_and_no_settlement_of_a_part(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    shop.totals["o-1"] = Pay("60", "USD", parts=True)

    @shop.paycheckout.atomic
    def close(app: object, **facts: object) -> None:
        raise RuntimeError("not now")

    with order_paid.connected_to(close, shop.app):
        with shop.app.test_request_context():
            page = shop.paycheckout.status_url("o-1")
        assert shop.browser.get(page).status_code == 200
        assert shop.settles(part).status == "part"
        assert shop.reconciles().failed == 0, "it is tried again with back-off"
        for told in (shop.runs("show", "o-1").output, shop.runs("report").output):
            assert "close of order_paid failed: RuntimeError: not now" in told
    shop.clock.advance(minutes=10)
    shop.reconciles()
    assert shop.attempt(part).status == "paid"
    assert "close" not in shop.runs("report").output


def test_an_order_that_is_paid_in_parts_is_looked_at_no_more(shop: Shop) -> None:
    first = pays(shop, "60").checkout_id
    assert pays(shop, "40").status == "paid"
    assert shop.settles(first).next_read_at is None


def test_a_payment_in_another_currency_that_a_person_accepts_ends_the_looks_at_the_parts(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    euro = shop.has_deposit("completed", inputCurrency="EUR", inputAmount=number("40"))
    assert (shop.settles(euro).status, shop.resolves(euro, True).status) == ("held", "paid")
    assert balance(shop) == ("60.00", "0.00", "USD"), "the sums of two currencies are never added"
    shop.clock.advance(minutes=1)
    shop.reconciles()
    assert shop.attempt(part).next_read_at is None


def test_parts_of_an_order_whose_total_the_shop_cannot_say_are_reported(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id

    @shop.paycheckout.order_total
    def raises(order_id: str) -> Pay:
        raise LookupError("a bug")

    shop.clock.advance(hours=1)
    shop.reconciles()
    assert shop.attempt(part).problem == "LookupError: a bug"
    assert "unsettled-payments" in urgent(shop)


def test_no_amount_is_reckoned_while_the_shop_cannot_say_what_the_order_costs(shop: Shop) -> None:
    pays(shop, "60")
    late = arrives(shop, "40")
    shop.totals["o-1"] = None
    shop.settles(late)

    @shop.paycheckout.order_total
    def raises(order_id: str) -> Pay:
        raise LookupError("a bug")

    with pytest.raises(TransitionRefused, match="decide again once it can"):
        shop.resolves(late, accept=True, as_part=True)
    assert shop.attempt(late).status == "held"


def test_order_total_may_ask_what_is_left_of_another_order_by_its_newest_total(shop: Shop) -> None:
    pays(shop, "60")
    shop.totals["o-1"] = Pay("90", "USD", parts=True)
    asked: list[Any] = []

    def order_total(order_id: str) -> Any:
        found = shop.paycheckout.balance("o-1")
        asked.append((order_id, found and found.left))
        return shop.totals[order_id]

    shop.paycheckout.order_total(order_total)
    shop.starts("o-2")
    assert asked == [("o-1", Decimal(40)), ("o-2", Decimal(30))]
