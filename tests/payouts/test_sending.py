"""Sending: every row of the table of states that begins with `ready` or `sending`."""

from __future__ import annotations

from decimal import Decimal

import pytest

from flask_paycheckout import PayoutReport
from flask_paycheckout.rules.destinations import Destination
from tests.payouts.paying import ADA, BANK, WALLET, Payer


@pytest.mark.parametrize("to", [ADA, BANK, WALLET], ids=["recipient", "bank", "wallet"])
def test_a_ready_payout_is_sent(payer: Payer, to: Destination) -> None:
    payer.owes(to=to)
    assert payer.sends() == PayoutReport(sent=1)
    payout, (made,) = payer.payout(), payer.at_service
    assert (payout.status, payout.disbursement_id) == ("sent", made.disbursement_id)
    assert (made.reference, made.amount) == (payout.service_reference, Decimal("80.00"))
    assert (payout.problem, payout.lease_token, payout.failures) == (None, None, 0)
    assert payer.sends() == PayoutReport(), "nothing is sent twice"
    assert len(payer.at_service) == 1


def test_a_bank_transfer_is_followed_to_its_end(payer: Payer) -> None:
    payer.owes(to=BANK)
    payer.sends()
    payer.sandbox.advance(minutes=1)
    assert payer.sends() == PayoutReport()
    payer.sandbox.finish(payer.payout(), "completed")
    payer.sandbox.advance(minutes=2)
    assert payer.sends() == PayoutReport(completed=1)
    payout = payer.payout()
    assert (payout.status, payout.to_details, payout.next_attempt_at) == ("completed", None, None)
