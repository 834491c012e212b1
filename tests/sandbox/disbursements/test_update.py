"""`PATCH /v1/disbursement/{disbursementId}`, the webhook it sends, and moves by the virtual clock."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.rules import add_account
from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.disbursements.transitions import force_disbursement
from flask_paycheckout.sandbox.world import transitions
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import Receiver, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer


@pytest.mark.rule("Only a sandbox lets a status be forced, of a disbursement and of a deposit.")
@pytest.mark.rule("A pending disbursement takes the status sent; completed and failed are among them.")
@pytest.mark.rule("An update answers number and message and no data.")
@pytest.mark.rule("The sandbox's update sends a status, a text.")
@pytest.mark.rule("updatedAt is the time of the last change, of the record as of each entry of its history.")
@pytest.mark.parametrize("status", ["completed", "failed", "pending"])
def test_a_pending_disbursement_takes_the_status_sent(payer: Payer, status: str) -> None:
    made = payer.pays_one()
    assert payer.forces(made, status).body == {"statusCode": 200, "message": "Disbursement updated successfully"}
    record = payer.sees(made)
    assert record["status"] == status
    last = record["activityHistory"][-1]
    assert (last["activity"], last["status"]) == ("Sent to recipient account", status)
    assert last["updatedAt"] == record["updatedAt"]


@pytest.mark.rule("Updating a disbursement that does not exist is a 400.")
def test_an_unknown_disbursement_is_a_bad_request(payer: Payer) -> None:
    refused = payer.forces("none")
    assert refused.body == {"statusCode": 400, "error": "Bad Request", "message": "Disbursement not found"}


def test_the_disbursement_of_another_account_is_unknown(sandbox: Flask, payer: Payer) -> None:
    made = payer.pays_one()
    with sandbox.app_context(), transaction() as session:
        stranger = add_account(session).user_id
        assert force_disbursement(session, stranger, made, "completed") is False
        assert force_disbursement(session, USER_ID, made, "completed") is True


@pytest.mark.parametrize(
    "status", [pytest.param(None, id="none"), pytest.param(5, id="number"), pytest.param("x" * 41, id="long")]
)
def test_the_status_must_be_a_text(payer: Payer, status: Any) -> None:
    refused = payer.forces(payer.pays_one(), status)
    assert (refused.code, refused.message.split()[0]) == (400, "status")


@pytest.mark.rule("The sandbox's update of a disbursement sends a webhook, whatever its kind.")
@pytest.mark.rule("Both kinds of disbursement are updated here, and each notes it in its own words.")
def test_each_update_sends_a_webhook(payer: Payer, receiver: Receiver) -> None:
    fiat, crypto = payer.pays_one(), payer.sends_one()
    payer.forces(fiat)
    payer.forces(crypto, "failed")
    assert receiver.received == [
        {"disbursementId": fiat, "status": "completed"},
        {"disbursementId": crypto, "status": "failed"},
    ]


def test_a_refused_update_sends_none(payer: Payer, receiver: Receiver) -> None:
    payer.forces(payer.pays_one(), "odd")
    payer.forces("none")
    assert receiver.received == []


def test_unknown_disbursement_webhook_full(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    payer = Payer(make_sandbox(disbursement_webhook="full"))
    fiat, crypto = payer.pays_one(), payer.sends_one()
    payer.forces(fiat)
    payer.forces(crypto)
    assert receiver.received[0] == {"event": "disbursement"} | payer.sees(fiat)
    assert (receiver.received[1]["disbursementId"], receiver.received[1]["token"]) == (crypto, "usdc-polygon")


def test_unknown_forced_disbursement_status(make_sandbox: MakeSandbox) -> None:
    for value, odd, failed in (("known", 400, 200), ("any", 200, 200), ("completed", 400, 400)):
        payer = Payer(make_sandbox(forced_disbursement_status=value))
        made = payer.pays_one()
        assert [payer.forces(made, status).code for status in ("odd", "failed", "completed")] == [odd, failed, 200]


def test_unknown_forced_update_of_settled(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    for value, code in (("accepted", 200), ("refused", 400)):
        payer = Payer(make_sandbox(forced_update_of_settled=value))
        made = payer.pays_one()
        payer.forces(made, "failed")
        assert payer.forces(made).code == code
    assert len(receiver.received) == 3


@pytest.mark.rule("How a disbursement leaves pending without an update is open; by default it stays.")
def test_by_default_time_alone_moves_nothing(payer: Payer, tester: Tester) -> None:
    made = payer.pays_one()
    tester.advances(hours=48)
    assert payer.sees(made)["status"] == "pending"


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_unknown_disbursement_progress(make_sandbox: MakeSandbox, receiver: Receiver, status: str) -> None:
    app = make_sandbox(disbursement_progress=status)
    payer, tester = Payer(app), Tester(app)
    made, crypto = payer.pays_one(), payer.sends_one()
    tester.advances(minutes=9)
    assert payer.sees(made)["status"] == "pending"
    tester.advances(minutes=2)
    record = payer.sees(made)
    assert record["status"] == status
    assert [entry["status"] for entry in record["activityHistory"]] == ["pending", "pending", status]
    assert receiver.received == []
    payer.forces(crypto)


def test_what_moved_by_itself_moves_once_and_a_forced_one_never_again(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(disbursement_progress="completed")
    payer, tester = Payer(app), Tester(app)
    forced, left = payer.pays_one(), payer.pays_one()
    payer.forces(forced, "failed")
    for _ in range(3):
        tester.advances(minutes=11)
    assert payer.sees(forced)["status"] == "failed"
    assert len(payer.sees(left)["activityHistory"]) == 3


def test_more_than_one_transaction_takes_all_arrive(make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transitions, "BATCH", 3)
    app = make_sandbox(disbursement_progress="completed")
    payer, tester = Payer(app), Tester(app)
    payer.pays(*[{"recipientId": RECIPIENTS["USD"], "amount": 5}] * 7)
    tester.advances(minutes=11)
    assert payer.lists("status=completed&limit=1")["totalDocs"] == 7


def test_unknown_disbursement_progress_webhook(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    app = make_sandbox(disbursement_progress="completed", disbursement_progress_webhook="sent")
    made = [Payer(app).pays_one(), Payer(app).sends_one()]
    Tester(app).advances(minutes=11)
    assert receiver.received == [{"disbursementId": each, "status": "completed"} for each in made]
