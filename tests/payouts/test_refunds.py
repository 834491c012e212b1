"""`refund`: never more than arrived, also with concurrent requests; a refunded payment is never accepted afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from flask_paycheckout import (
    ByHand,
    NothingToRefund,
    RefundTooLarge,
    TransitionRefused,
    UnknownCheckout,
    order_paid,
)
from flask_paycheckout.payouts.payout_moves import PayoutMove
from flask_paycheckout.payouts.payout_states import PayoutEvidence
from flask_paycheckout.testing import Signals
from tests.alarming import alarms_of, urgent
from tests.conftest import OpenShop
from tests.payouts.books import Books
from tests.payouts.shop import ADA, MAKER, TOKEN, WALLET, decides, payout, payouts, pays_out, refunds, stands
from tests.races.crowds import crowd
from tests.scripted import Shop


@pytest.mark.parametrize("limits", [{"USD": "5"}, {TOKEN: "4"}])
def test_a_person_approves_what_reaches_the_limit_of_either_currency(open_shop: OpenShop, limits: Any) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_OVER=limits)
    checkout_id = shop.has_paid()
    assert refunds(shop, checkout_id, "4.90", to=WALLET, send=("3.99", TOKEN)).status == "ready"
    assert refunds(shop, checkout_id, "5.00", to=WALLET, send=("4.00", TOKEN)).status == "waiting"


def test_another_currency_is_sent_and_what_was_paid_is_counted(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    refund = refunds(shop, checkout_id, "12.00", send=("99.5", TOKEN))
    assert (refund.kind, refund.status, str(refund.amount), refund.currency) == ("refund", "claimable", "99.5", TOKEN)
    assert (refund.refund_of, refund.order_id, refund.destination) == (checkout_id, "o-1", None)
    assert (str(refund.counts), refund.counts_currency) == ("12.00", "USD")
    with pytest.raises(RefundTooLarge, match=r"0\.50 USD are left"):
        refunds(shop, checkout_id, "0.51", send=("0.1", TOKEN))
    rest = refunds(shop, checkout_id, send=("3", TOKEN), to=ByHand())
    assert (rest.counts, rest.status, shop.attempt(checkout_id).payback) == (Decimal("0.50"), "completed", "refunded")
    plain = refunds(shop, shop.has_paid("o-2"), "1")
    assert (plain.counts, plain.counts_currency) == (plain.amount, plain.currency) == (1, "USD")
    output = shop.runs("show", "o-1").stdout
    assert "99.5 usdc-polygon for 12.00 USD: claimable" in output
    assert "Made for 99.5 usdc-polygon in place of 12.00 USD by Ada" in output


@pytest.mark.on_each_database
def test_money_given_back_by_hand_is_completed_counted_booked_and_told(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_OVER={"USD": "5"})
    checkout_id = shop.has_paid()
    refund = refunds(shop, checkout_id, "10.00", to=ByHand())
    assert (refund.status, refund.destination, refund.due_at) == ("completed", "Given back: by hand", None)
    with pytest.raises(RefundTooLarge):
        refunds(shop, checkout_id, "2.51", to=ByHand())
    assert [event.payout_reference for event in shop.events("payout_completed")] == [refund.reference]
    bookings = shop.runtime.models.bookings
    with shop.runtime.engine().connect() as connection:
        rows = connection.execute(bookings.select().where(bookings.c.reference == refund.reference)).all()
    assert [(row.kind, row.gross, row.checkout_id) for row in rows] == [("refund", "-10.00", checkout_id)]
    with pytest.raises(TypeError, match="to must be"):
        pays_out(shop, to=ByHand())


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"amount": "0.001"}, "more decimals than USD has"),
        ({"by": " "}, "by must not be empty"),
        ({"send": "12.40"}, "send must be an amount and a currency"),
        ({"send": (12.4, TOKEN)}, "send must be Decimal, int or str"),
        ({"send": ("1.00", "USD")}, "another currency than USD"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_stored(shop: Shop, arguments: dict[str, Any], fault: str) -> None:
    checkout_id = shop.has_paid()
    with pytest.raises((TypeError, ValueError), match=fault):
        refunds(shop, checkout_id, **{"amount": "1"} | arguments)
    assert (payouts(shop), shop.attempt(checkout_id).refunded_amount) == ([], None)


def test_a_payment_that_never_arrived_cannot_be_refunded(shop: Shop) -> None:
    open_one = shop.has_deposit("pending")
    for checkout_id, error in ((open_one, NothingToRefund), ("never", UnknownCheckout)):
        with pytest.raises(error):
            refunds(shop, checkout_id)


def test_money_that_is_not_settled_yet_is_not_refunded(shop: Shop) -> None:
    """A payment whose atomic receiver fails is stored as arrived, and may still pay its order."""
    with shop.refusing(order_paid):
        checkout_id = shop.has_deposit("completed")
        shop.reconciles()
        assert shop.attempt(checkout_id).payment is not None
        with pytest.raises(NothingToRefund, match="is created"):
            refunds(shop, checkout_id)


@pytest.mark.on_each_database
def test_a_held_payment_is_rejected_by_its_refund_in_part_too(shop: Shop, signals: Signals) -> None:
    checkout_id = shop.has_held()
    refunds(shop, checkout_id, "0.40")
    shop.reconciles()
    assert shop.attempt(checkout_id).status == "rejected"
    assert [event.extra for event in signals if event.name == "payment_resolved"] == [{"accepted": False} | ADA]
    with pytest.raises(TransitionRefused):
        shop.resolves(checkout_id, accept=True)


@pytest.mark.parametrize(("column", "limit"), [("counts", {}), ("amount", {"USD": "100"})])
def test_one_whose_stored_sum_is_no_number_keeps_no_other_from_being_sent(
    open_shop: OpenShop, books: Books, column: str, limit: dict[str, str]
) -> None:
    shop = open_shop(PAYCHECKOUT_ACCESS_TOKEN="unit-token", PAYCHECKOUT_DAILY_LIMIT=limit)
    spoiled, other = (refunds(shop, shop.has_paid(order_id), to=MAKER).reference for order_id in ("o-1", "o-2"))
    stands(shop, spoiled, **{column: "twelve"})
    for _ in range(7):
        shop.reconciles(minutes=1)
    states = {reference: shop.runtime.payouts.require(reference).status for reference in (spoiled, other)}
    assert states == {spoiled: "ready", other: "sent"}
    assert shop.runtime.payouts.require(spoiled).problem == "a sum that is stored of it is no number"
    assert "unsent-payouts" in urgent(shop)


@pytest.mark.parametrize("was", ["waiting", "ready"])
def test_a_refund_is_not_paid_on_top_of_a_payment_that_was_taken_back(shop: Shop, books: Books, was: str) -> None:
    checkout_id, other = shop.has_paid(), refunds(shop, shop.has_paid("o-2"), to=MAKER)
    refund = refunds(shop, checkout_id, to=MAKER)
    stands(shop, refund.reference, status=was)

    def reads(status: str) -> None:
        shop.waits(minutes=10)
        shop.service.says(checkout_id, status)
        shop.hears_of(checkout_id)
        shop.reconciles()

    reads("failed")
    assert (payout(shop, refund.reference).status, payout(shop, other.reference).status) == (was, "sent")
    assert not decides(shop, "approve", refund.reference)
    assert {"stopped-refunds", "reversed-payments"} <= urgent(shop)
    assert not {"unsent-payouts", "payouts-to-approve"} & urgent(shop)
    (remedy,) = alarms_of(shop)["stopped-refunds"].remedies
    assert f"payouts cancel {refund.reference}" in remedy
    assert remedy in shop.runs("show", "o-1").stdout
    reads("completed")
    if was == "waiting":
        assert decides(shop, "approve", refund.reference)
    shop.reconciles()
    assert payout(shop, refund.reference).status == "sent"


def test_the_balance_is_refunded_with_no_more_decimals_than_the_currency_has(shop: Shop) -> None:
    checkout_id = shop.has_arrived("12.505")
    shop.settles(checkout_id)
    assert refunds(shop, checkout_id).amount == Decimal("12.50")
    assert shop.attempt(checkout_id).payback == "refunded"
    with pytest.raises(RefundTooLarge):
        refunds(shop, checkout_id)


def tries(act: Callable[[], object]) -> str:
    """The result of an act, which is retried while another transaction holds SQLite's one lock."""
    for _ in range(200):
        try:
            act()
            return "done"
        except (RefundTooLarge, TransitionRefused):
            return "refused"
        except OperationalError:
            continue
    return "locked"


@pytest.mark.on_each_database
def test_refunds_at_once_are_together_never_more_than_what_arrived(shop: Shop) -> None:
    checkout_id = shop.has_paid()

    with crowd(32) as threads:
        refunded = Counter(threads.does([lambda: tries(lambda: refunds(shop, checkout_id, "1.00"))] * 32))
    assert refunded == {"done": 12, "refused": 20}
    assert len(payouts(shop)) == 12
    assert shop.attempt(checkout_id).refunded_amount == "12.00"


@pytest.mark.on_each_database
def test_refunding_and_accepting_a_held_payment_at_once_does_one_of_them(shop: Shop) -> None:
    """An accepted payment may be refunded as well, but never a refunded one accepted."""
    checkout_id = shop.has_held()
    with crowd(2) as threads:
        refunded, accepted = threads.does(
            [
                lambda: tries(lambda: refunds(shop, checkout_id)),
                lambda: tries(lambda: shop.resolves(checkout_id, accept=True)),
            ]
        )
    assert refunded == "done"
    moves = [line for line in shop.attempt(checkout_id).history.splitlines() if '"resolved"' in line]
    assert len(moves) == 1
    assert shop.attempt(checkout_id).status == ("paid" if accepted == "done" else "rejected")


def fails(shop: Shop, reference: str) -> None:
    """Let a read of a sent payout find it failed."""
    stands(shop, reference, status="sent")
    with shop.app.app_context():
        moved = shop.runtime.payout_moves.move(payout(shop, reference), PayoutMove(PayoutEvidence.FAILED), shop.clock())
    assert moved is not None
