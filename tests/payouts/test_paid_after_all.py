"""Transfers that the service reported as failed, and pays after all: nobody is paid twice unnoticed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout import ByHand, RefundTooLarge, TransitionRefused
from tests.alarming import alarms_of
from tests.payouts.paying import ADA, BANK, Payer
from tests.payouts.shop import refunds

REPEATED = "repeated-transfers"


def fails(payer: Payer, reference: str) -> None:
    """Let a transfer fail at the bank."""
    payer.sends()
    payer.ends(reference, "failed")
    assert payer.status(reference) == "failed"


def pays_after_all(payer: Payer, reference: str, status: Any = "completed", *, days: float = 0) -> None:
    """Let the service change its answer without sending a webhook."""
    payer.shop.waits(days=days)
    disbursement_id = payer.payout(reference).disbursement_id
    payer.shop.runtime.client.fiat_disbursements.sandbox_update(disbursement_id, status)


@pytest.mark.on_each_database
@pytest.mark.parametrize("given_up", [False, True], ids=["replaced", "given up"])
@pytest.mark.parametrize("to", [BANK, ByHand()], ids=["bank", "by hand"])
def test_a_replaced_refund_that_is_paid_after_the_other_one_is_reported_until_a_person_has_looked(
    payer: Payer, to: Any, given_up: bool
) -> None:
    checkout_id = payer.is_paid()
    first = refunds(payer.shop, checkout_id, to=ADA).reference
    fails(payer, first)
    if given_up:
        payer.decides("cancel_payout", reference=first)
    second = refunds(payer.shop, checkout_id, to=to).reference
    payer.sends()
    assert REPEATED not in alarms_of(payer.shop)
    pays_after_all(payer, first)
    payer.sends(minutes=60)
    alarm = alarms_of(payer.shop)[REPEATED]
    assert (alarm.count, first in str(alarm.examples)) == (1, True)
    payer.decides("resolve_payout", True, reference=first)
    assert (payer.status(first), REPEATED in alarms_of(payer.shop)) == ("completed", False)
    # Both transfers left the account, so the customer still has the money when one comes back.
    assert [line for line in payer.booked if line[0] == "refund"] == [("refund", "-12.50")] * 3
    assert payer.shop.runs("audit").exit_code == 0
    payer.decides("resolve_payout", False, reference=second)
    with pytest.raises(RefundTooLarge):
        refunds(payer.shop, checkout_id, to=ADA)
    with pytest.raises((RefundTooLarge, TransitionRefused)):
        payer.decides("retry_payout", reference=second)


def tried_again(payer: Payer, *, refund: bool) -> str:
    """Has a transfer fail and tried again; gives its first disbursement."""
    if refund:
        refunds(payer.shop, payer.is_paid(), to=ADA, reference="p-1")
    else:
        payer.owes()
    fails(payer, "p-1")
    first = str(payer.payout().disbursement_id)
    payer.decides("retry_payout")
    payer.sends()
    return first


@pytest.mark.parametrize("refund", [False, True], ids=["payout", "refund"])
@pytest.mark.parametrize("sent", [True, False, None], ids=["both paid", "one came back", "fails again"])
def test_an_earlier_try_that_is_paid_besides_a_completed_one_is_reported_until_a_person_has_looked(
    payer: Payer, sent: bool | None, refund: bool
) -> None:
    first = tried_again(payer, refund=refund)
    payer.ends()
    update = payer.shop.runtime.client.fiat_disbursements.sandbox_update
    amount = payer.payout().amount
    update(first, "completed")
    payer.sends(minutes=60)
    alarm, waits = alarms_of(payer.shop)[REPEATED], payer.payout()
    assert (alarm.count, waits.status, waits.reported_amount) == (1, "sent", f"{2 * amount}")
    if sent is None:
        update(first, "failed")
    else:
        payer.decides("resolve_payout", sent)
    for _ in range(2):
        payer.sends(minutes=60)
    assert (payer.status(), REPEATED in alarms_of(payer.shop)) == ("completed", False)
    assert sum(Decimal(gross) for kind, gross in payer.booked if kind != "payment") == -amount * (1 + (sent is True))
    if refund:
        assert payer.payout().counts == amount
    assert len(payer.at_service) == 2
    # A person's word that one came back, against the service's, stays a difference of the month.
    assert payer.shop.runs("audit").exit_code == (sent is False)


@pytest.mark.parametrize("status", [403, 503])
def test_an_earlier_try_that_cannot_be_read_stops_no_end_and_ends_no_alarm(payer: Payer, status: int) -> None:
    first = tried_again(payer, refund=False)
    reads_of_first = f"GET /v1/disbursement/fiat/{first}"
    payer.sandbox.fault(reads_of_first, "error", times=1000, statusCode=status)
    payer.ends()
    payer.sends(minutes=60)
    assert payer.status() == "completed"
    payer.sandbox.control("DELETE", "faults")
    payer.shop.runtime.client.fiat_disbursements.sandbox_update(first, "completed")
    payer.sends(minutes=600)
    payer.sandbox.fault(reads_of_first, "error", times=1000, statusCode=status)
    payer.sends(minutes=600)
    assert (payer.status(), REPEATED in alarms_of(payer.shop)) == ("sent", True)


@pytest.mark.parametrize("end", [None, "cancel_payout"], ids=["failed", "given up"])
def test_an_earlier_try_is_paid_after_all_as_the_last_one_is(payer: Payer, end: str | None) -> None:
    first = tried_again(payer, refund=True)
    payer.ends(status="failed")
    if end is not None:
        payer.decides(end)
    payer.shop.runtime.client.fiat_disbursements.sandbox_update(first, "completed")
    payer.sends(minutes=60)
    assert (REPEATED in alarms_of(payer.shop)) is (end is not None)
    if end is not None:
        payer.decides("resolve_payout", True)
    payer.sends(minutes=60)
    assert (payer.status(), payer.payout().disbursement_id) == ("completed", first)
    assert payer.shop.runs("audit").exit_code == 0


@pytest.mark.parametrize("end", ["failed", "completed"])
def test_a_read_that_a_webhook_asked_for_is_made_once_the_service_answers(payer: Payer, end: str) -> None:
    payer.owes()
    payer.sends()
    payer.ends(status=end)
    for _ in range(40):
        payer.sends(minutes=360)
    pays_after_all(payer, "p-1", "completed" if end == "failed" else "failed")
    payer.sandbox.fault("GET /v1/disbursement/fiat/{disbursementId}", "error", times=20, statusCode=503)
    payer.shop.browser.post("/paycheckout/webhook", json={"event": "disbursement"})
    payer.sends()
    assert payer.status() == end
    payer.sandbox.control("DELETE", "faults")
    payer.sends(minutes=30)
    assert payer.status() == ("sent" if end == "failed" else "failed")


def test_a_failed_payout_that_is_paid_after_all_is_sent_and_booked_again(payer: Payer) -> None:
    checkout_id = payer.is_paid()
    refund = refunds(payer.shop, checkout_id, to=ADA).reference
    fails(payer, refund)
    pays_after_all(payer, refund, "pending", days=1)
    for status in ("sent", "completed"):
        payer.sends(minutes=400)
        assert payer.status(refund) == status
        pays_after_all(payer, refund)
    assert [line for line in payer.booked if line[0] == "refund"] == [("refund", "-12.50")] * 2
    assert "failed-payouts" not in alarms_of(payer.shop)


def test_the_first_refund_is_sent_again_once_the_unsent_one_in_its_place_is_cancelled(payer: Payer) -> None:
    checkout_id = payer.is_paid()
    first = refunds(payer.shop, checkout_id, to=ADA).reference
    fails(payer, first)
    second = refunds(payer.shop, checkout_id).reference
    pays_after_all(payer, first)
    payer.sends(minutes=60)
    with pytest.raises(TransitionRefused, match=f"Cancel refund {second} first"):
        payer.decides("resolve_payout", True, reference=first)
    payer.decides("cancel_payout", reference=second)
    for _ in range(2):
        payer.sends(minutes=2)
    assert (payer.status(first), REPEATED in alarms_of(payer.shop)) == ("completed", False)
    assert (len(payer.at_service), payer.payout(first).counts) == (1, payer.payout(first).amount)


def test_the_alarm_ends_when_the_transfer_fails_again_or_a_person_says_that_it_came_back(payer: Payer) -> None:
    checkout_id = payer.is_paid()
    first = refunds(payer.shop, checkout_id, to=ADA).reference
    fails(payer, first)
    refunds(payer.shop, checkout_id, to=ByHand())
    for status, is_told in {"pending": True, "failed": False, "completed": True}.items():
        pays_after_all(payer, first, status)
        payer.sends(minutes=60)
        assert (REPEATED in alarms_of(payer.shop)) is is_told
    with pytest.raises(TransitionRefused):
        payer.decides("cancel_payout", reference=first)
    payer.decides("resolve_payout", False, reference=first)
    payer.sends(minutes=600)
    assert (payer.payout(first).shown_status, REPEATED in alarms_of(payer.shop)) == ("replaced", False)


def test_a_webhook_after_weeks_finds_a_transfer_that_is_paid_after_all_and_nothing_else_reads_it(payer: Payer) -> None:
    payer.owes()
    fails(payer, "p-1")
    for _ in range(60):
        payer.sends(minutes=360)
    calls = payer.counts_calls()
    payer.sends(minutes=360)
    assert (payer.payout().due_at, calls) == (None, {})
    pays_after_all(payer, "p-1")
    assert payer.shop.browser.post("/paycheckout/webhook", json={"event": "disbursement"}).status_code == 200
    payer.sends()
    assert payer.status() == "sent"
