"""Payments that the service reverses after they have arrived: read after a webhook, signalled, booked, not refunded."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout import ByHand, NothingToRefund, Pay, TransitionRefused, payment_reversed
from flask_paycheckout.checkouts import settlement
from flask_paycheckout.testing import Signals
from flask_paycheckout.totals import Amount
from tests.alarming import alarms_of, examples, urgent
from tests.conftest import OpenShop
from tests.payouts.claiming import FORM, Customer
from tests.payouts.shop import decides, refunds
from tests.scripted import Shop, number, raising
from tests.views.owner import opens_view, order_page, text_of
from tests.views.pages import heading, opens


def has_money(shop: Shop, state: str) -> str:
    """Bring the order "o-1" to this final state; returns the checkout's id."""
    if state == "part":
        shop.costs("100", parts=True)
        return str(shop.settles(shop.has_deposit("completed")).checkout_id)
    if state == "paid":
        return shop.has_paid()
    held_id = shop.has_held()
    if state == "rejected":
        shop.resolves(held_id, accept=False)
    return held_id


def takes_back(shop: Shop, checkout_id: str, says: str = "failed") -> Any:
    """Let the service report another status, days later, and send its webhook."""
    shop.waits(days=3)
    shop.service.says(checkout_id, says)
    assert shop.hears_of(checkout_id) == 200
    return shop.attempt(checkout_id)


def lines(shop: Shop) -> list[tuple[str, str]]:
    return [(line.kind.value, f"{line.gross:.2f}") for line in shop.calls.books()]


@pytest.mark.on_each_database
@pytest.mark.parametrize(
    ("state", "says"), [("part", "failed"), ("paid", "pending"), ("held", "charged back"), ("rejected", "failed")]
)
def test_money_that_is_taken_back_is_reported_and_booked_and_the_state_stays(
    shop: Shop, signals: Signals, state: str, says: str
) -> None:
    checkout_id = has_money(shop, state)
    arrived = lines(shop)
    gone = takes_back(shop, checkout_id, says)
    assert (gone.status, gone.payment, f"{gone.taken_back.amount:.2f}") == (state, None, arrived[0][1])
    assert signals.names[-1] == "payment_reversed"
    assert lines(shop) == [*arrived, ("payment_returned", f"-{arrived[0][1]}")]
    assert "reversed-payments" in urgent(shop)
    assert alarms_of(shop)["reversed-payments"].severity == "now"
    assert says in shop.runs("show", "o-1").output
    with pytest.raises(NothingToRefund, match="no longer reports"):
        refunds(shop, checkout_id)
    assert "differs 0" in shop.runs("audit").output


def test_the_comparison_of_the_month_notices_it_without_a_webhook(open_shop: OpenShop, signals: Signals) -> None:
    shop = open_shop(PAYCHECKOUT_AUDIT_MONTHS=True)
    checkout_id = shop.has_paid()
    shop.service.says(checkout_id, "failed")
    shop.waits(days=32)
    for _ in range(3):
        shop.reconciles()
        shop.waits(minutes=10)
    assert signals.names.count("payment_reversed") == 1
    assert "reversed-payments" in urgent(shop)


def test_the_customer_reads_that_the_payment_was_taken_back(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    assert "data-print" in opens(shop).text
    takes_back(shop, checkout_id)
    page = opens(shop).text
    assert (heading(page), "data-print" in page) == ("Your payment was taken back", False), "it is no receipt any more"


def test_nobody_asks_where_a_refund_of_money_that_was_taken_back_goes(shop: Shop) -> None:
    """The customer is asked once the money arrives again; before, the shop sends nothing of it."""
    checkout_id = shop.has_paid()
    customer = Customer(shop, refunds(shop, checkout_id).reference)
    assert "Refund unclaimed" in text_of(opens(shop))
    takes_back(shop, checkout_id)
    assert "Refund" not in text_of(opens(shop))
    page = customer.opens().text
    assert (heading(page), "<form" in page) == ("The shop is looking at your refund", False)
    assert customer.sends(**FORM).status_code == 409
    shop.service.says(checkout_id, "completed")
    shop.waits(minutes=5)
    shop.hears_of(checkout_id)
    assert "<form" in customer.opens().text


@pytest.mark.on_each_database
@pytest.mark.parametrize("state", ["paid", "held", "rejected"])
def test_a_webhook_about_money_that_arrived_causes_one_read_in_a_cool_down(
    shop: Shop, signals: Signals, state: str
) -> None:
    checkout_id = has_money(shop, state)
    shop.waits(minutes=1)
    shop.service.reads.clear()
    for _ in range(3):
        shop.hears_of(checkout_id)
    assert shop.service.reads == [checkout_id]
    shop.service.says(checkout_id, "failed")
    shop.reconciles()
    assert len(shop.service.reads) == 1
    shop.reconciles(seconds=5)
    assert (len(shop.service.reads), signals.names[-1]) == (2, "payment_reversed"), "no webhook is lost"
    shop.reconciles(days=1)
    assert len(shop.service.reads) == 2


def test_a_webhook_during_the_read_that_pays_the_order_causes_a_read_afterwards(shop: Shop) -> None:
    """The payment may have been taken back since that read."""
    checkout_id = shop.has_deposit("completed")
    shop.service.meets_once(lambda: shop.hears_of(checkout_id))
    shop.hears_of(checkout_id)
    assert shop.attempt(checkout_id).status == "paid"
    shop.service.says(checkout_id, "failed")
    shop.reconciles(seconds=6)
    assert "reversed-payments" in urgent(shop)


def test_a_read_that_another_process_has_claimed_is_not_planned_again_after_the_payment(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")

    def another_process_claims() -> None:
        shop.hears_of(checkout_id)
        shop.waits(seconds=6)
        assert shop.runtime.checkouts.claim_due(shop.clock.now, shop.clock.now, 1, account="")

    shop.service.meets_once(another_process_claims)
    shop.hears_of(checkout_id)
    paid = shop.attempt(checkout_id)
    assert (paid.status, paid.next_read_at, paid.webhook_due_at) == ("paid", None, None)


@pytest.mark.parametrize("heard", [False, True], ids=["no webhook", "webhook"])
def test_a_decision_leaves_the_read_that_a_webhook_asked_for_and_no_other(shop: Shop, heard: bool) -> None:
    checkout_id = shop.has_held()
    if heard:
        shop.waits(minutes=1)
        for _ in range(2):
            shop.hears_of(checkout_id)
    shop.waits(minutes=6)
    shop.resolves(checkout_id, accept=True)
    assert "late-reads" not in urgent(shop)
    shop.service.reads.clear()
    shop.service.says(checkout_id, "failed")
    shop.reconciles(minutes=6)
    assert shop.service.reads == [checkout_id] * heard
    assert ("reversed-payments" in urgent(shop)) is heard


def test_a_deferred_webhook_is_read_by_whoever_settles_it(open_shop: OpenShop, signals: Signals) -> None:
    shop = open_shop(PAYCHECKOUT_DEFER_WEBHOOKS=True)
    checkout_id = shop.has_paid()
    takes_back(shop, checkout_id)
    assert "payment_reversed" not in signals.names
    shop.settles(checkout_id)
    assert signals.names[-1] == "payment_reversed"
    shop.service.reads.clear()
    shop.settles(checkout_id)
    assert shop.service.reads == []


def test_one_not_found_is_no_proof_and_a_second_one_a_minute_later_is(shop: Shop, signals: Signals) -> None:
    checkout_id = shop.has_paid()
    shop.waits(days=1)
    del shop.service.deposits[checkout_id]
    shop.hears_of(checkout_id)
    assert (urgent(shop), shop.attempt(checkout_id).payment is None) == (set(), False)
    shop.reconciles(seconds=60)
    assert (signals.names[-1], shop.attempt(checkout_id).payment) == ("payment_reversed", None)


def test_a_read_that_fails_is_tried_until_the_service_answers(shop: Shop, signals: Signals) -> None:
    checkout_id = shop.has_paid()
    shop.waits(days=1)
    shop.service.fails(checkout_id)
    shop.hears_of(checkout_id)
    for _ in range(8):
        shop.reconciles(minutes=1)
    assert "failing-service" in urgent(shop)
    shop.service.says(checkout_id, "failed")
    shop.reconciles(minutes=10)
    assert (signals.names[-1], urgent(shop)) == ("payment_reversed", {"reversed-payments"})


def test_money_that_comes_after_all_is_booked_again_and_ends_the_alarm(shop: Shop, signals: Signals) -> None:
    checkout_id = shop.has_paid()
    takes_back(shop, checkout_id)
    takes_back(shop, checkout_id, "completed")
    assert urgent(shop) == set()
    assert lines(shop) == [("payment", "12.50"), ("payment_returned", "-12.50"), ("payment", "12.50")]
    assert signals.names.count("order_paid") == 1
    assert "differs 0" in shop.runs("audit").output
    assert refunds(shop, checkout_id).amount == shop.attempt(checkout_id).payment.paid.amount


def test_another_amount_that_comes_in_its_place_is_reported_until_a_person_has_dealt_with_it(shop: Shop) -> None:
    opens_view(shop)
    checkout_id = shop.has_paid()
    takes_back(shop, checkout_id, "processing")
    since = alarms_of(shop)["reversed-payments"].since
    for _ in range(2):
        shop.service.says(checkout_id, "completed", inputAmount=number("5"))
        shop.waits(minutes=1)
        shop.hears_of(checkout_id)
        assert alarms_of(shop)["reversed-payments"].since == since
    assert lines(shop)[-1] == ("payment", "5.00")
    assert "another amount" in shop.runs("show", "o-1").output.partition("\n")[0]
    assert "It is dealt with" in order_page(shop).text
    shop.calls.keep(checkout_id, by="Ada", why="the rest came in cash")
    assert urgent(shop) == set()
    assert "differs 0" in shop.runs("audit").output


def test_an_amount_that_the_service_changes_later_is_reported_until_a_person_has_dealt_with_it(shop: Shop) -> None:
    """The books keep what was read first."""
    checkout_id = shop.has_paid()
    refunds(shop, checkout_id, "4", to=ByHand())
    for _ in range(2):
        shop.service.says(checkout_id, "completed", inputAmount=number("3"))
        shop.waits(minutes=1)
        shop.hears_of(checkout_id)
        assert "another amount" in examples(shop, "reversed-payments")[0]
    assert lines(shop) == [("payment", "12.50"), ("refund", "-4.00")]
    shop.calls.keep(checkout_id, by="Ada", why="the service has charged back the rest")
    shop.waits(minutes=1)
    shop.hears_of(checkout_id)
    assert urgent(shop) == set()


@pytest.mark.parametrize("decided", [False, True], ids=["held", "rejected"])
def test_another_amount_of_money_that_paid_no_order_takes_its_place(
    shop: Shop, signals: Signals, decided: bool
) -> None:
    checkout_id = shop.has_rejected() if decided else shop.has_held()
    if decided:
        refunds(shop, checkout_id, to=ByHand())
    shop.service.says(checkout_id, "completed", inputAmount=number("12.50"))
    shop.waits(minutes=1)
    shop.hears_of(checkout_id)
    back = [("refund", "-1.00")] if decided else []
    assert lines(shop) == [("held", "1.00"), *back, ("payment_returned", "-1.00"), ("held", "12.50")]
    assert "payment_reversed" not in signals.names
    shown = shop.runs("show", "o-1").output
    assert shown.index("The amount was changed") < shown.index("The money arrived again")
    assert urgent(shop) == ({"money-to-pay-back"} if decided else {"held-payments"})
    assert refunds(shop, checkout_id).amount == Decimal("11.50" if decided else "12.50")
    assert "differs 0" in shop.runs("audit").output


def test_a_process_that_dies_between_the_old_and_the_new_amount_loses_neither(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout_id = shop.has_held()
    shop.service.says(checkout_id, "completed", inputAmount=number("12.50"))
    shop.waits(minutes=1)
    with monkeypatch.context() as dying:
        dying.setattr(settlement, "restore", raising(SystemExit()))
        with pytest.raises(SystemExit):
            shop.hears_of(checkout_id)
    assert shop.attempt(checkout_id).payment is None
    shop.reconciles(minutes=10)
    assert shop.attempt(checkout_id).payment.paid == Amount(Decimal("12.50"), "USD")
    assert shop.attempt(checkout_id).webhook_due_at is None


@pytest.mark.parametrize(
    ("amounts", "which"), [(("60", "40"), 1), (("60", "40"), 0), (("60",), 0)], ids=["last", "part", "unpaid"]
)
def test_nothing_but_a_decision_ends_the_alarm_of_a_changed_amount(
    shop: Shop, amounts: tuple[str, ...], which: int
) -> None:
    shop.costs("100", parts=True)
    changed = [shop.settles(shop.has_arrived(each)).checkout_id for each in amounts][which]
    shop.service.says(changed, "completed", inputAmount=number("20"))
    shop.waits(minutes=1)
    shop.hears_of(changed)
    decides(shop, "cancel", refunds(shop, changed).reference)
    shop.costs("60", parts=True)
    shop.reconciles(hours=1)
    assert shop.calls.order_status("o-1") == "paid"
    del shop.service.deposits[changed]
    shop.hears_of(changed)
    assert "reversed-payments" in urgent(shop)
    shop.calls.keep(changed, by="Ada", why="the rest came in cash")
    assert "reversed-payments" not in urgent(shop)


def test_a_person_ends_the_alarm_of_money_that_is_gone(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    takes_back(shop, checkout_id)
    shop.calls.keep(checkout_id, by="Ada", why="the customer paid in cash")
    assert urgent(shop) == set()


def test_held_money_that_is_gone_can_only_be_rejected(shop: Shop) -> None:
    held_id = shop.has_held()
    takes_back(shop, held_id)
    with pytest.raises(TransitionRefused, match="taken its money back"):
        shop.resolves(held_id, accept=True)
    assert shop.resolves(held_id, accept=False).status == "rejected"
    assert "money-to-pay-back" not in urgent(shop)


def test_a_part_that_is_taken_back_is_left_to_pay_again(shop: Shop) -> None:
    shop.costs("100", parts=True)
    first, _ = (shop.settles(shop.has_arrived(each)) for each in ("60", "30"))
    takes_back(shop, first.checkout_id)
    balance = shop.calls.balance("o-1")
    assert balance is not None
    assert (f"{balance.paid:.2f}", f"{balance.left:.2f}") == ("30.00", "70.00")
    assert shop.attempt(shop.starts()).due == Pay("70", "USD")


@pytest.mark.parametrize("others", [(), ("30",)])
def test_a_part_that_is_taken_back_is_reported_until_it_comes_after_all(shop: Shop, others: tuple[str, ...]) -> None:
    """The calls of `order_total` are about the other parts."""
    shop.costs("100", parts=True)
    first, *_ = (shop.settles(shop.has_arrived(each)) for each in ("60", *others))
    takes_back(shop, first.checkout_id)
    for _ in range(3):
        shop.reconciles(minutes=31)
    assert urgent(shop) == {"reversed-payments"}
    shop.reconciles(days=8)
    assert urgent(shop) == {"reversed-payments"} | ({"unfinished-parts"} if others else set())
    shop.service.says(first.checkout_id, "completed", inputAmount=number("60"))
    shop.waits(days=3)
    shop.hears_of(first.checkout_id)
    assert "reversed-payments" not in urgent(shop)
    assert shop.attempt(first.checkout_id).next_read_at is not None


def test_a_part_of_a_paid_order_that_comes_again_as_another_amount_is_reported_until_it_is_dealt_with(
    shop: Shop,
) -> None:
    opens_view(shop)
    shop.costs("100", parts=True)
    first, last = (shop.settles(shop.has_arrived(each)) for each in ("60", "40"))
    assert last.status == "paid"
    takes_back(shop, first.checkout_id)
    shop.service.says(first.checkout_id, "completed", inputAmount=number("5"))
    shop.waits(minutes=1)
    shop.hears_of(first.checkout_id)
    assert {"reversed-payments", "unsettled-payments"} & urgent(shop) == {"reversed-payments"}
    assert "another amount" in shop.runs("show", "o-1").output
    assert "It is dealt with" in order_page(shop).text
    shop.calls.keep(first.checkout_id, by="Ada", why="the rest came in cash")
    assert {"reversed-payments", "unsettled-payments"}.isdisjoint(urgent(shop))
    assert "differs 0" in shop.runs("audit").output


@pytest.mark.parametrize(("which", "amount"), [(0, "50"), (1, "10")], ids=["a part", "the one that paid the order"])
def test_an_excess_that_is_gone_is_no_excess(shop: Shop, which: int, amount: str) -> None:
    shop.costs("100", parts=True)
    parts = [shop.settles(shop.has_arrived(each)).checkout_id for each in ("50", "10")]
    shop.costs("55", parts=True)
    shop.reconciles()
    assert "excess-payments" in urgent(shop)
    takes_back(shop, parts[which])
    assert {"reversed-payments", "excess-payments"} & urgent(shop) == {"reversed-payments"}
    shop.service.says(parts[which], "completed", inputAmount=number(amount))
    shop.waits(minutes=1)
    shop.hears_of(parts[which])
    assert {"reversed-payments", "excess-payments"} & urgent(shop) == {"excess-payments"}


@pytest.mark.on_each_database
def test_an_atomic_receiver_takes_part_and_one_that_fails_loses_nothing(shop: Shop, signals: Signals) -> None:
    checkout_id, tries = shop.has_paid(), list[str]()

    @shop.paycheckout.atomic
    def stop(app: object, *, checkout: Any, event_id: str, **facts: object) -> None:
        tries.append(event_id)
        if len(tries) == 1:
            raise RuntimeError("not now")

    with payment_reversed.connected_to(stop, sender=shop.app):
        takes_back(shop, checkout_id)
        assert shop.attempt(checkout_id).payment is not None
        shop.reconciles(seconds=10)
    assert shop.attempt(checkout_id).payment is None
    assert len(tries) == 2
    assert len(set(tries)) == 1


def test_another_client_id_that_does_not_find_it_takes_nothing_back(open_shop: OpenShop) -> None:
    checkout_id = open_shop(PAYCHECKOUT_CLIENT_ID="client-a").has_paid()
    other = open_shop(PAYCHECKOUT_CLIENT_ID="client-b")
    del other.service.deposits[checkout_id]
    for _ in range(3):
        other.clock.advance(minutes=2)
        other.hears_of(checkout_id)
        other.reconciles()
    paid = other.attempt(checkout_id)
    assert (paid.payment is None, paid.problem, paid.next_read_at) == (False, None, None)


@pytest.mark.on_each_database
def test_what_a_person_does_during_the_read_counts(shop: Shop) -> None:
    """The read is applied to the payment as the change leaves it."""
    rejected = shop.has_rejected("o-2")
    refund = refunds(shop, rejected).reference
    takes_back(shop, rejected)
    shop.service.says(rejected, "completed", inputAmount=number("1"))
    shop.waits(minutes=1)
    shop.service.meets_once(lambda: decides(shop, "cancel", refund))
    shop.hears_of(rejected)
    assert "money-to-pay-back" in urgent(shop)
    shop.costs("100", parts=True)
    first, last = (shop.settles(shop.has_arrived(each)).checkout_id for each in ("60", "40"))
    shop.service.meets_once(lambda: refunds(shop, first, "2"))
    takes_back(shop, first)
    assert Decimal(shop.attempt(last).excess) == 40 - 100
    shop.service.meets_once(lambda: shop.calls.keep(first, by="Ada", why="it came in cash"))
    takes_back(shop, first, "charged back")
    assert "reversed-payments" not in urgent(shop)
