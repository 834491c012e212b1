"""Onramp payments: a currency buys a token."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.sandbox.payments.quotes import rate_of
from flask_paycheckout.sandbox.world.money import TOKENS
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.payments.customers import STELLAR_WALLET, WALLET, details, found, lists, sends

BUYS: dict[str, Any] = {"inputCurrency": "USD", "outputCurrency": "usdc-polygon", "inputAmount": Decimal("250.50")}


@pytest.mark.each_database
def test_a_currency_buys_a_token(merchant: Merchant, tester: Tester) -> None:
    made = sends(merchant, **BUYS)
    payment = made.data
    assert (made.code, payment["paymentType"], payment["blockchain"]) == (201, "onramp", "polygon")
    assert (payment["inputCurrency"], payment["inputAmount"]) == ("USD", Decimal("250.50"))
    # 0.5 % and 0.3 %, each rounded up to a cent.
    assert (payment["exchangeFees"], payment["platformFees"]) == (Decimal("1.26"), Decimal("0.76"))
    rate = rate_of(next(token for token in TOKENS if token.id == "usdc-polygon"), "USD")
    assert payment["outputAmount"] == (Decimal("248.48") / (rate or 1)).quantize(Decimal("0.000001"), "ROUND_DOWN")
    tester.advances(hours=1)
    assert details(merchant, payment["id"]).data["status"] == "completed"
    assert lists(merchant).data["docs"][0]["paymentType"] == "onramp"
    assert found(merchant, minInputAmount="250.50", maxInputAmount="250.50") == [payment["id"]]


@pytest.mark.parametrize(
    ("wrong", "code", "named"),
    [
        ({"inputCurrency": "CHF"}, 400, "usdc-polygon"),
        ({"inputAmount": Decimal("0.01")}, 400, "inputAmount"),
        ({"walletAddress": STELLAR_WALLET}, 400, "walletAddress"),
    ],
)
def test_a_purchase_that_cannot_be_is_refused(merchant: Merchant, wrong: dict[str, Any], code: int, named: str) -> None:
    refused = sends(merchant, **BUYS | {"walletAddress": WALLET} | wrong)
    assert (refused.code, refused.message.split()[0]) == (code, named)


def test_unknown_onramp_payments_refused(make_sandbox: MakeSandbox) -> None:
    refused = sends(Merchant(make_sandbox(onramp_payments="refused")), **BUYS)
    assert (refused.code, refused.message.split()[0]) == (400, "inputCurrency")


def test_unknown_transaction_hash(make_sandbox: MakeSandbox) -> None:
    for value, empty in (("empty", ""), ("null", None)):
        merchant = Merchant(make_sandbox(transaction_hash=value))
        made = sends(merchant).data
        assert made["transactionHash"] == details(merchant, made["id"]).data["transactionHash"] == empty
        assert "transactionHash" not in lists(merchant).data["docs"][0]
