"""Records of fiat disbursements, and the start of their history."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from tests.sandbox.actors import Receiver
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer, given

ADA = {"recipientId": RECIPIENTS["USD"], "amount": 5}
SENT = {"receiverWalletAddress": WALLET, "amount": 5}


def makes_three(payer: Payer) -> list[str]:
    """A disbursement of each kind: to a saved recipient, to a given one, and by the first version."""
    batch = payer.pays(ADA | {"reference": "r-1", "note": "May"}, {"recipient": given(), "amount": 20}).data
    first = payer.pays_v1(ADA | {"currency": "USD", "reference": "r-2"}).data
    return [made["disbursementId"] for made in batch["disburseData"] + first["disburseData"]]


@pytest.mark.rule("The list holds the records that are read one by one, in the envelope of pages.")
def test_a_listed_disbursement_is_the_one_that_is_read(payer: Payer) -> None:
    read = [payer.sees(made) for made in makes_three(payer)]
    assert payer.lists()["docs"] == read
    assert [payer.lists(f"limit=1&page={page}")["docs"] for page in (1, 2, 3)] == [[record] for record in read]


@pytest.mark.rule("createdBy is the user who created it.")
def test_a_disbursement_names_the_user_who_created_it(sandbox: Flask, payer: Payer) -> None:
    visitor = Visitor(sandbox)
    user = visitor.confirms(visitor.begins(), visitor.otp()).data["user"]
    assert [payer.sees(made)["createdBy"] for made in makes_three(payer)] == [user["id"]] * 3


@pytest.mark.parametrize("items", [..., None, [], {}, "x"], ids=repr)
def test_the_list_of_items_is_required_and_not_empty(payer: Payer, items: Any) -> None:
    refused = payer.sends("POST", "/v1/disbursement/fiat", {} if items is ... else {"disburseData": items})
    assert (refused.code, refused.message.split()[0]) == (400, "disburseData")


@pytest.mark.rule("Every disbursement of every create has an id of its own.")
def test_every_disbursement_has_an_id_of_its_own(payer: Payer) -> None:
    batches = (payer.pays_v1(*[ADA | {"currency": "USD"}] * 3), payer.pays(ADA, ADA), payer.sends_tokens(SENT, SENT))
    made = [item["disbursementId"] for batch in batches for item in batch.data["disburseData"]]
    assert len(set(made)) == len(made) == 7


def test_an_update_is_noted_in_the_words_of_its_kind(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    payer = Payer(make_sandbox(disbursement_webhook="full"))
    payer.forces(payer.pays_one())
    payer.forces(payer.sends_one())
    # No operation reads a crypto disbursement; the webhook is the one place that shows it again.
    fiat, crypto = ([entry["activity"] for entry in told["activityHistory"]] for told in receiver.received)
    assert fiat == ["Disburse requested", "Recipient validated", "Sent to recipient account"]
    assert crypto == ["Sent to recipient wallet", "Received by recipient"]
