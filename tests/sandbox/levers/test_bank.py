"""The control interface tells what is to be paid out, and lets the bank carry it out or refuse it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.sandbox.actors import Receiver, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, USDC, WALLET, Payer, given


def test_what_is_to_be_paid_out_is_listed_oldest_first_and_exactly(payer: Payer, tester: Tester) -> None:
    first = {"recipientId": RECIPIENTS["USD"], "amount": 80.25, "reference": "first"}
    payer.pays(first, {"recipient": given(), "amount": 7})
    payer.sends_one(reference="third")
    fields = ("kind", "reference", "currency", "to", "amount", "status")
    assert [tuple(one[field] for field in fields) for one in tester.does("GET", "disbursements")] == [
        ("fiat", "first", "USD", RECIPIENTS["USD"], Decimal("80.25"), "pending"),
        ("fiat", None, "USD", "00991", 7, "pending"),
        ("crypto", "third", USDC, WALLET, 5, "pending"),
    ]


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_the_bank_carries_out_what_is_pending_or_refuses_it(
    payer: Payer, tester: Tester, receiver: Receiver, status: str
) -> None:
    made = payer.pays_one(), payer.sends_one()
    for each in made:
        assert tester.does("POST", f"disbursements/{each}/finish", {"status": status})["status"] == status
    assert payer.sees(made[0])["activityHistory"][-1]["status"] == status
    assert [one["status"] for one in tester.does("GET", "disbursements")] == [status, status]
    assert receiver.received == [{"disbursementId": each, "status": status} for each in made]


def test_the_bank_acts_once_whatever_a_merchant_may_force(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(forced_disbursement_status="completed")
    payer, tester = Payer(sandbox), Tester(sandbox)
    made = payer.pays_one()
    assert tester.does("POST", f"disbursements/{made}/finish", {"status": "failed"})["status"] == "failed"
    refused = tester.refuses("POST", f"disbursements/{made}/finish", {"status": "completed"})
    assert refused == (409, "disbursement")
    assert payer.sees(made)["status"] == "failed"


def test_a_bank_completes_a_transfer_that_exists_or_fails_it(payer: Payer, tester: Tester) -> None:
    made = payer.pays_one()
    for status in ("pending", "paid", None, 5):
        assert tester.refuses("POST", f"disbursements/{made}/finish", {"status": status}) == (400, "status")
    assert tester.refuses("POST", "disbursements/none/finish", {"status": "failed"}) == (404, "disbursement")
