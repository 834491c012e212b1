"""A call's change, its answer and its entry in the request log are stored together, once and at once."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.wire import request_log
from flask_paycheckout.sandbox.world.database import db
from tests.sandbox.actors import Merchant

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
