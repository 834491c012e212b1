"""The money of a deposit: exact, stored in columns; a malformed part never hides that the money arrived."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import pytest

from flask_paycheckout.client import Deposit, ExchangeInfo, Fee, PaymentFiat
from flask_paycheckout.store.payments import PAYMENT_COLUMNS, Amount, Payment, PaymentFee, payment_columns, payment_of
from tests.scripted import Clock


def completed(**fields: Any) -> Deposit:
    return Deposit("chk-1", "completed", **fields)


def test_what_the_deposit_said_comes_back_exactly(clock: Clock) -> None:
    deposit = completed(
        input_currency="IDR",
        input_amount=Decimal("199500"),
        output_currency="usdc-polygon",
        output_amount=Decimal("12.130000000000000001"),
        fee=Fee(Decimal("0.37"), Decimal("2.9"), "USD"),
        payment_fiat=PaymentFiat("014", "Bank Central Asia", "qr"),
        exchange_info=ExchangeInfo(Decimal("0.000062500000000000000000000000000001"), "USD", Decimal("12.5")),
    )
    with localcontext(prec=6):
        payment = payment_of(payment_columns(deposit, clock.now))
    assert payment == Payment(
        paid=Amount(Decimal("199500"), "IDR"),
        received=Amount(Decimal("12.130000000000000001"), "usdc-polygon"),
        fee=PaymentFee(Decimal("0.37"), Decimal("2.9"), "USD"),
        method="014",
        bank_name="Bank Central Asia",
        rate=Decimal("0.000062500000000000000000000000000001"),
        completed_at=clock.now,
    )
    assert str(payment) == (
        "199500 IDR paid, 12.130000000000000001 usdc-polygon received, fee 0.37 USD (2.9 %), method 014"
        " (Bank Central Asia), rate 0.000062500000000000000000000000000001"
    )


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
