"""The money of a deposit: exact, stored in columns; a malformed part never hides that the money arrived."""

from __future__ import annotations

from typing import Any

import pytest

from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, payment_columns, payment_of
from flask_paycheckout.client import Deposit, PaymentFiat
from tests.scripted import Clock


def completed(**fields: Any) -> Deposit:
    return Deposit("chk-1", "completed", **fields)


@pytest.mark.parametrize(
    ("deposit", "method"),
    [
        pytest.param(completed(payment_fiat=PaymentFiat(None, "Bank Mandiri")), "Bank Mandiri", id="name"),
        pytest.param(completed(payment_crypto={"address": "0x1"}), "crypto", id="crypto"),
        pytest.param(completed(payment_fiat=PaymentFiat(qr_data="qr")), None, id="nothing"),
    ],
)
def test_the_method_is_the_best_that_was_said(clock: Clock, deposit: Deposit, method: str | None) -> None:
    payment = payment_of(payment_columns(deposit, clock.now))
    assert payment is not None
    assert payment.method == method


def test_without_money_there_is_no_payment_and_foreign_text_in_a_column_is_no_number(clock: Clock) -> None:
    empty: dict[str, Any] = dict.fromkeys(PAYMENT_COLUMNS)
    assert payment_of(empty) is None
    spoilt = empty | {"payment_completed_at": clock.now, "payment_rate": "dear", "payment_fee_amount": "Infinity"}
    payment = payment_of(spoilt)
    assert payment is not None
    assert (payment.rate, payment.fee) == (None, None)
