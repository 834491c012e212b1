"""A call's change, its answer and its entry in the request log are stored together, once and at once."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.wire import request_log
from flask_paycheckout.sandbox.world.database import db
from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.documented import Departures

CHECKOUT = {"inputCurrency": "USD", "inputAmount": 12.5}


def executed(app: Flask, statement: str) -> list[Any]:
    with app.app_context(), db.engine.begin() as connection:
        found = connection.exec_driver_sql(statement)
        return list(found) if found.returns_rows else []


def test_nothing_is_stored_of_a_call_whose_entry_cannot_be(
    sandbox: Flask, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr(request_log, "masked", fails)
    assert merchant.asks_checkout(**CHECKOUT).code == 500
    assert executed(sandbox, "SELECT id FROM checkout") == []


def test_a_call_whose_answer_changed_afterwards_has_an_entry_for_the_one_that_was_given(
    merchant: Merchant, tester: Tester, receiver: Receiver, departures: Departures
) -> None:
    checkout = merchant.makes_checkout()
    tester.picks(checkout)

    def fails(_: object) -> None:
        raise RuntimeError("a fault of the one who receives webhooks")

    receiver.reacts = fails
    assert merchant.forces_status(checkout).code == 500
    # The documents have no such answer.
    departures.seen.clear()
    assert [entry["status"] for entry in tester.requests()][:2] == [500, 200]
