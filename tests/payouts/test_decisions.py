"""People's decisions on payouts: recorded with name and reason, refused where the state does not allow them."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from flask_paycheckout import Account, ByHand, ToBank, TransitionRefused
from flask_paycheckout.database.state_table import lines
from flask_paycheckout.errors import payout_status_text
from flask_paycheckout.payouts.destinations import Sealing
from flask_paycheckout.payouts.payout_states import PAYOUT_TRANSITIONS, PayoutEvidence, PayoutState, PayoutStatus
from tests.conftest import OpenShop
from tests.payouts.books import NO_ANSWER, Books
from tests.payouts.conftest import CONFIG
from tests.payouts.paying import ADA as RECIPIENT, BANK, Payer
from tests.payouts.shop import ADA, payout, pays_out, refunds, sends, stands
from tests.scripted import Shop, refusal

DECISIONS: dict[PayoutEvidence, tuple[str, tuple[Any, ...]]] = {
    PayoutEvidence.APPROVED: ("approve_payout", ()),
    PayoutEvidence.CANCELLED: ("cancel_payout", ()),
    PayoutEvidence.RETRIED: ("retry_payout", ()),
    PayoutEvidence.SEEN_SENT: ("resolve_payout", (True,)),
    PayoutEvidence.SEEN_UNSENT: ("resolve_payout", (False,)),
}


def decides(shop: Shop, evidence: PayoutEvidence, **keywords: Any) -> Any:
    call, arguments = DECISIONS[evidence]
    with shop.app.app_context():
        return getattr(shop.paycheckout, call)("maker-1", *arguments, **ADA | keywords)


@pytest.mark.parametrize("evidence", DECISIONS)
def test_a_decision_is_taken_or_refused_as_the_table_says(shop: Shop, evidence: PayoutEvidence) -> None:
    pays_out(shop)
    for status in PayoutStatus:
        stands(shop, "maker-1", status=status.value, moved_at=shop.clock())
        shop.waits(minutes=1)
        meanings = {"sent": PayoutEvidence.RETURNED, "completed": PayoutEvidence.RETURNED}
        meanings = {
            PayoutEvidence.SEEN_UNSENT: meanings,
            PayoutEvidence.CANCELLED: {"failed": PayoutEvidence.GIVEN_UP},
        }.get(evidence, {})
        rule = meanings.get(status, evidence)
        to = PAYOUT_TRANSITIONS.get((PayoutState(status), rule))
        if to is None:
            with pytest.raises(TransitionRefused, match=f"since it {payout_status_text(status)}"):
                decides(shop, evidence)
            assert payout(shop).status == status
            continue
        assert decides(shop, evidence).status == to
        last = lines(payout(shop).history)[-1]
        assert (last["to"], last["by"], last["why"], last["rule"]) == (to, "Ada", "one jar broke", rule)


def test_a_transfer_that_the_service_reports_with_another_amount_is_completed_with_that_amount(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    with pytest.raises(TransitionRefused, match="was sent"):
        payer.decides("resolve_payout", True)
    payer.stands(amount="81.00")
    payer.sends(minutes=2)
    assert "another amount" in payer.payout().problem
    payer.decides("resolve_payout", True)
    stored = payer.payout()
    assert (stored.status, stored.amount, stored.problem) == ("completed", Decimal(80), None)
    assert payer.booked == [("payout", "-80.00"), ("payout_returned", "81.00"), ("payout", "-80.00")]
    # The requested amount counts for a repeated request, and for a retry after the money came back.
    payer.owes(amount="81.00")
    payer.decides("resolve_payout", False)
    payer.sandbox.finish(payer.payout(), "failed")
    payer.decides("retry_payout")
    assert (payer.payout().amount, payer.payout().asked_amount) == (Decimal(81), None)


def test_a_refund_that_the_service_has_paid_too_much_of_counts_what_was_left(payer: Payer) -> None:
    refund = refunds(payer.shop, payer.is_paid(), to=BANK)
    payer.sends()
    payer.stands(refund.reference, amount="12.00")
    payer.sends(minutes=2)
    payer.stands(refund.reference, counts="12.00")
    payer.decides("resolve_payout", True, reference=refund.reference)
    stored = payer.payout(refund.reference)
    assert (stored.status, stored.amount, stored.counts) == ("completed", Decimal("12.50"), Decimal("12.00"))


def test_a_destination_that_the_service_writes_otherwise_is_accepted_by_a_person(payer: Payer) -> None:
    payer.owes(to=BANK)
    payer.sends()
    payer.stands(to_details=Sealing((), list).seal(ToBank("Bo", "77731", "b", "Bank")))
    payer.ends()
    assert "another destination" in payer.payout().problem
    payer.decides("resolve_payout", True)
    assert (payer.status(), payer.payout().amount) == ("completed", Decimal(80))


def test_a_payout_that_may_have_been_paid_is_not_cancelled(shop: Shop) -> None:
    pays_out(shop)
    stands(shop, "maker-1", doubt="lost")
    with pytest.raises(TransitionRefused, match="takes only once"):
        decides(shop, PayoutEvidence.CANCELLED)


@pytest.mark.parametrize("again", [False, True])
def test_a_refund_that_came_back_is_paid_again_unless_it_was_given_by_hand_like_the_rest(
    payer: Payer, again: bool
) -> None:
    checkout_id = payer.is_paid("11.00")
    refund = refunds(payer.shop, checkout_id, "5", to=RECIPIENT)
    payer.sends()
    payer.ends(refund.reference)
    refunds(payer.shop, checkout_id, to=ByHand())
    payer.decides("resolve_payout", False, reference=refund.reference)
    if again:
        refunds(payer.shop, checkout_id, to=ByHand())
    with pytest.raises(TransitionRefused, match="in its place") if again else nullcontext():
        payer.decides("retry_payout", reference=refund.reference)
    assert payer.status(refund.reference) == ("failed" if again else "ready")


def test_a_persons_not_sent_holds_when_the_keys_that_sent_it_are_gone(open_shop: OpenShop, books: Books) -> None:
    shop, keys = open_shop("keys", **CONFIG), {"client_id": "before", "client_secret": "secret-before"}
    shop.paycheckout.account(lambda name: Account(**keys, access_token="secret-token"))
    pays_out(shop, account="seller")
    books.instead, books.instead_of_reads = [NO_ANSWER], [refusal(503)]
    sends(shop)
    keys |= {"client_id": "since", "client_secret": "secret-since"}
    sends(shop, minutes=5)
    assert (payout(shop).status, books.paid) == ("unknown", []), "what other keys do not find is not sent again"
    assert "'before'" in payout(shop).problem
    decides(shop, PayoutEvidence.SEEN_UNSENT)
    sends(shop)
    assert (payout(shop).status, len(books.paid)) == ("sent", 1)


def test_payouts_sent_with_other_keys_are_looked_up_apart(open_shop: OpenShop, books: Books) -> None:
    shop, keys = open_shop("keys", **CONFIG), {"client_secret": "secret"}
    shop.paycheckout.account(lambda name: Account(**keys, access_token="secret-token"))
    for client_id in ("before", "since"):
        keys["client_id"] = client_id
        pays_out(shop, client_id, account="seller")
        books.instead, books.instead_of_reads = [NO_ANSWER], [refusal(503)] * 9
        sends(shop)
        shop.waits(minutes=5)
    books.instead_of_reads = []
    for _ in range(2):
        sends(shop)
        shop.waits(minutes=5)
    assert [payout(shop, one).status for one in ("before", "since")] == ["unknown", "sent"]


def test_a_payout_that_was_certainly_not_sent_is_sent_with_the_new_keys(open_shop: OpenShop, books: Books) -> None:
    shop, keys = open_shop("keys", **CONFIG), {"client_secret": "secret", "client_id": "before"}
    shop.paycheckout.account(lambda name: Account(**keys, access_token="secret-token"))
    pays_out(shop, account="seller")
    books.instead = [refusal(401)]
    sends(shop)
    keys["client_id"] = "since"
    assert sends(shop, hours=1).sent == 1


def test_a_completed_transfer_that_came_back_is_booked_as_returned_and_asked_about_before_a_retry(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.ends()
    payer.decides("resolve_payout", False)
    assert payer.status() == "failed"
    assert payer.booked == [("payout", "-80.00"), ("payout_returned", "80.00")]
    payer.decides("retry_payout")
    payer.sends()
    assert (payer.status(), len(payer.at_service)) == ("sent", 1), "the service still says that it was carried out"
    assert payer.booked[2:] == [("payout", "-80.00")]


def test_a_payout_whose_account_number_was_wiped_is_not_tried_again(payer: Payer) -> None:
    """Money that was refunded by hand is not retried either, because it has no destination at the service."""
    payer.owes(to=BANK)
    payer.stands(status="failed", to_details=None)
    with pytest.raises(TransitionRefused, match="was wiped"):
        payer.decides("retry_payout")


def test_name_and_reason_are_needed(shop: Shop) -> None:
    pays_out(shop)
    for evidence, (name, value) in product(DECISIONS, [("by", "  "), ("why", ""), ("by", None), ("by", "x" * 256)]):
        with pytest.raises((TypeError, ValueError), match=f"{name} must"):
            decides(shop, evidence, **{name: value})


def test_an_amount_that_the_service_has_corrected_cannot_be_accepted_any_more(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.stands(amount="81.00")
    payer.sends(minutes=2)
    payer.stands(amount="80.00")
    payer.sends(minutes=60)
    with pytest.raises(TransitionRefused, match="reports otherwise"):
        payer.decides("resolve_payout", True)
    assert payer.payout().due_at - payer.sandbox.now > timedelta(minutes=30), "half of its age"


def test_a_retry_of_a_refund_of_which_less_was_sent_counts_all_of_it_again(payer: Payer) -> None:
    refund = refunds(payer.shop, payer.is_paid(), to=RECIPIENT)
    payer.carried_out_unseen(refund.reference, doubtful=True, amount="12.00")
    for status in ("sent", "completed"):
        payer.sends(minutes=2)
        payer.decides("resolve_payout", True, reference=refund.reference)
        assert payer.status(refund.reference) == status
    payer.decides("resolve_payout", False, reference=refund.reference)
    payer.decides("retry_payout", reference=refund.reference)
    stored = payer.payout(refund.reference)
    assert (stored.amount, stored.counts) == (Decimal("12.50"), Decimal("12.50"))
