"""The money of a deposit: exact, stored in columns; a malformed part never hides that the money arrived."""

from __future__ import annotations

from typing import Any

from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, payment_of
from tests.scripted import Clock


def test_without_money_there_is_no_payment_and_foreign_text_in_a_column_is_no_number(clock: Clock) -> None:
    empty: dict[str, Any] = dict.fromkeys(PAYMENT_COLUMNS)
    assert payment_of(empty) is None
    spoilt = empty | {"payment_completed_at": clock.now, "payment_rate": "dear", "payment_fee_amount": "Infinity"}
    payment = payment_of(spoilt)
    assert payment is not None
    assert (payment.rate, payment.fee) == (None, None)
