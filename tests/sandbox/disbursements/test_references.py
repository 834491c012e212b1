"""References: unique in an account when present, also within one batch and in concurrent requests."""

from __future__ import annotations

from functools import partial

import pytest
from flask import Flask

from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer
from tests.sandbox.world.test_databases import at_once

ITEM = {"recipientId": RECIPIENTS["USD"], "amount": 5}
SENT = {"receiverWalletAddress": WALLET, "amount": 5}

#: Enough references for concurrent batches in opposite orders to meet in the middle.
SHARED = 300


def test_a_reference_is_refused_a_second_time_by_every_create(payer: Payer) -> None:
    assert payer.pays(*(ITEM | {"reference": reference} for reference in ("r", "R", None, None))).code == 200
    refused = payer.pays(ITEM, ITEM | {"reference": "r"})
    assert refused.code == 400
    assert refused.message.startswith("disburseData[1].reference was used before")
    assert payer.pays_v1(ITEM | {"currency": "USD", "reference": "r"}).code == 400
    refused = payer.sends_tokens(SENT | {"reference": "r"})
    assert refused.message.startswith("receivers[0].reference was used before")
    assert payer.lists()["totalDocs"] == 4


def test_a_reference_twice_in_one_batch_is_refused(payer: Payer) -> None:
    for answer in (
        payer.pays(ITEM | {"reference": "r"}, ITEM, ITEM | {"reference": "r"}),
        payer.pays_v1(*[ITEM | {"currency": "USD", "reference": "r"}] * 2),
        payer.sends_tokens(*[SENT | {"reference": "r"}] * 2),
    ):
        assert answer.code == 400
        assert ".reference is that of " in answer.message
    assert payer.lists()["totalDocs"] == 0


@pytest.mark.on_each_database
def test_of_batches_at_once_that_share_references_one_is_made(sandbox: Flask, payer: Payer) -> None:
    """The batches have their references in opposite orders, and meet in the middle."""
    items = [ITEM | {"reference": f"r-{number}"} for number in range(SHARED)]
    answers = at_once(*(partial(Payer(sandbox).pays, *items[::step]) for step in (1, -1, 1, -1)))
    assert sorted(answer.code for answer in answers) == [200, 400, 400, 400]
    assert payer.lists()["totalDocs"] == SHARED
