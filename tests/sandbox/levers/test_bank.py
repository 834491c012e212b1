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
    listed = tester.does("GET", "disbursements")
    assert [(one["kind"], one["reference"], one["currency"], one["to"]) for one in listed] == [
        ("fiat", "first", "USD", RECIPIENTS["USD"]),
        ("fiat", None, "USD", "00991"),
        ("crypto", "third", USDC, WALLET),
    ]
    assert [one["amount"] for one in listed] == [Decimal("80.25"), 7, 5]
    assert {one["status"] for one in listed} == {"pending"}


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
    refused = tester.asks("POST", f"disbursements/{made}/finish", {"status": "completed"})
    assert (refused.http_status, refused.body["error"]["field"]) == (409, "disbursement")
    assert payer.sees(made)["status"] == "failed"


@pytest.mark.parametrize("status", ["pending", "paid", None, 5])
def test_a_bank_completes_a_transfer_or_fails_it(payer: Payer, tester: Tester, status: object) -> None:
    refused = tester.asks("POST", f"disbursements/{payer.pays_one()}/finish", {"status": status})
    assert (refused.http_status, refused.body["error"]["field"]) == (400, "status")


def test_an_unknown_disbursement_is_a_404(tester: Tester) -> None:
    refused = tester.asks("POST", "disbursements/none/finish", {"status": "completed"})
    assert (refused.http_status, refused.body["error"]["field"]) == (404, "disbursement")
