"""`PATCH /v1/disbursement/{disbursementId}`, the webhook it sends, and moves by the virtual clock."""

from __future__ import annotations

import pytest

from tests.sandbox.actors import Receiver, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer


@pytest.mark.parametrize("status", ["completed", "failed", "pending"])
def test_a_pending_disbursement_takes_the_status_sent(payer: Payer, status: str) -> None:
    disbursement_id = payer.pays_one()
    assert payer.forces(disbursement_id, status).body == {
        "statusCode": 200,
        "message": "Disbursement updated successfully",
    }
    record = payer.sees(disbursement_id)
    assert record["status"] == status
    last = record["activityHistory"][-1]
    assert (last["activity"], last["status"]) == ("Sent to recipient account", status)
    assert last["updatedAt"] == record["updatedAt"]


def test_an_unknown_disbursement_is_a_bad_request(payer: Payer) -> None:
    refused = payer.forces("none")
    assert refused.body == {"statusCode": 400, "error": "Bad Request", "message": "Disbursement not found"}


def test_each_update_sends_a_webhook(payer: Payer, receiver: Receiver) -> None:
    fiat, crypto = payer.pays_one(), payer.sends_one()
    payer.forces(fiat)
    payer.forces(crypto, "failed")
    for status in ("odd", None, 5, "x" * 41):
        assert payer.forces(fiat, status).code == 400
    assert receiver.received == [
        {"disbursementId": fiat, "status": "completed"},
        {"disbursementId": crypto, "status": "failed"},
    ]


def test_unknown_disbursement_webhook_full(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    payer = Payer(make_sandbox(disbursement_webhook="full"))
    fiat, crypto = payer.pays_one(), payer.sends_one()
    payer.forces(fiat)
    payer.forces(crypto)
    assert receiver.received[0] == {"event": "disbursement"} | payer.sees(fiat)
    assert receiver.received[1]["token"] == "usdc-polygon"


def test_time_alone_moves_each_once_if_it_is_to(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    for progress, webhook in (("forced", "none"), ("completed", "none"), ("failed", "sent")):
        app = make_sandbox(disbursement_progress=progress, disbursement_progress_webhook=webhook)
        payer, tester = Payer(app), Tester(app)
        forced, fiat, crypto = payer.pays_one(), payer.pays_one(), payer.sends_one()
        payer.forces(forced)
        receiver.received.clear()
        tester.advances(minutes=9)
        assert payer.sees(fiat)["status"] == "pending"
        for _ in range(3):
            tester.advances(minutes=11)
        moved = [] if progress == "forced" else [progress]
        assert [entry["status"] for entry in payer.sees(fiat)["activityHistory"]] == ["pending", "pending", *moved]
        assert payer.sees(forced)["status"] == "completed"
        expected = [fiat, crypto] if webhook == "sent" else []
        assert receiver.received == [{"disbursementId": each, "status": progress} for each in expected]
