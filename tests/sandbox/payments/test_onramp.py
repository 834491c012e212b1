"""Onramp payments: a currency buys a token."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.sandbox.payments.quotes import rate_of
from flask_paycheckout.sandbox.world.money import TOKENS
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.payments.customers import details, found, sends

BUYS: dict[str, Any] = {"inputCurrency": "USD", "outputCurrency": "usdc-polygon", "inputAmount": Decimal("250.50")}


@pytest.mark.on_each_database
def test_a_currency_buys_a_token(merchant: Merchant, tester: Tester) -> None:
    payment = sends(merchant, **BUYS).data
    assert (payment["paymentType"], payment["blockchain"]) == ("onramp", "polygon")
    # 0.5 % and 0.3 %, each rounded up to a cent.
    assert (payment["exchangeFees"], payment["platformFees"]) == (Decimal("1.26"), Decimal("0.76"))
    rate = rate_of(next(token for token in TOKENS if token.id == "usdc-polygon"), "USD")
    assert payment["outputAmount"] == (Decimal("248.48") / (rate or 1)).quantize(Decimal("0.000001"), "ROUND_DOWN")
    tester.advances(hours=1)
    assert details(merchant, payment["id"]).data["status"] == "completed"
    assert found(merchant, minInputAmount="250.50", maxInputAmount="250.50") == [payment["id"]]
