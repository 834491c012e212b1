"""The received money is stored in the statement of the move that it causes, exactly, and never prevents the move."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import msgspec
import pytest

from flask_paycheckout import Amount, PaymentFee, Receive, order_paid
from tests.scripted import Shop, number

pytestmark = pytest.mark.on_each_database

SAID: dict[str, Any] = {
    "fee": {"amount": number("0.37"), "percentage": number("2.90"), "currency": "USD"},
    "paymentFiat": {"bankCode": "014", "bankName": "Bank Central Asia", "qrData": "qr"},
    "exchangeInfo": {"exchangeRate": number("1.000000000000000001")},
}


def test_receivers_of_every_kind_get_what_arrived(shop: Shop) -> None:
    heard: dict[str, Any] = {}

    @shop.paycheckout.atomic
    def close(app: object, *, checkout: Any, **rest: Any) -> None:
        heard["atomic"] = checkout.payment

    def ship(app: object, *, checkout: Any, **rest: Any) -> None:
        heard["later"] = checkout.payment

    with order_paid.connected_to(close, sender=shop.app), order_paid.connected_to(ship, sender=shop.app):
        checkout_id = shop.starts()
        assert shop.attempt(checkout_id).payment is None
        assert shop.settles(checkout_id, says="pending", **SAID).payment is None, (
            "a method was picked, and no money is here"
        )
        shop.waits(minutes=2)
        shop.service.says(checkout_id, "completed", **SAID)
        with localcontext(prec=6):
            payment = shop.settles(checkout_id).payment
    assert payment.paid == Amount(Decimal("12.50"), "USD")
    assert payment.received == Amount(Decimal("12.13"), "USD")
    assert payment.fee == PaymentFee(Decimal("0.37"), Decimal("2.90"), "USD")
    assert (payment.method, payment.bank_name) == ("014", "Bank Central Asia")
    assert (payment.rate, payment.completed_at) == (Decimal("1.000000000000000001"), shop.clock.now)
    assert heard == {"atomic": payment, "later": payment}


ODD: dict[str, dict[str, Any]] = {
    "nothing but the side that was asked for": {"inputCurrency": None, "inputAmount": None},
    "another kind of value everywhere": {
        "inputAmount": "12.50",
        "inputCurrency": 5,
        "fee": [],
        "paymentFiat": "014",
        "paymentCrypto": 7,
        "exchangeInfo": {"exchangeRate": "1"},
    },
    "text that no column holds": {
        "inputCurrency": "U" * 300,
        "paymentFiat": {"bankCode": "\0", "bankName": "B" * 300},
        "fee": {"currency": msgspec.Raw(rb'"\ud800"')},
    },
    "numbers of megabytes": {"inputAmount": number("1E+99999999"), "fee": {"amount": number("1E-99999999")}},
}


@pytest.mark.parametrize("odd", ODD)
def test_an_unreadable_field_never_blocks_the_money(shop: Shop, odd: str) -> None:
    shop.totals["o-1"] = Receive("12.13", "USD", pay_in="EUR")
    checkout_id = shop.has_deposit("completed", **ODD[odd])
    assert shop.settles(checkout_id).status == "paid"
    payment = shop.attempt(checkout_id).payment
    assert payment.received == Amount(Decimal("12.13"), "USD")
    assert (payment.paid, payment.fee, payment.method, payment.rate) == (None, None, None, None)
