"""Records of payments, required parameters of a quote, and the parameters of both lists."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from tests.sandbox.actors import Merchant, Tester, exact
from tests.sandbox.payments.customers import (
    STELLAR_WALLET,
    WALLET,
    details,
    sends,
)
from tests.sandbox.recipients.payees import adds, bank

LISTED = {
    *("id", "paymentId", "paymentType", "sender", "receiver", "inputAmount", "inputAmountExact", "inputCurrency"),
    *("outputCurrency", "outputAmount", "outputAmountExact", "exchangeFees", "platformFees", "reason", "status"),
    *("description", "organizationId", "organizationName", "blockchain", "payOutWallet", "expiredDate"),
    *("createdAt", "updatedAt"),
}
BANK = {
    "bankName": "Bank of Everything",
    "accountNumber": "0099",
    "ifsc": "SAND0001",
    "achNumber": "021000021",
    "fedwireNumber": "026009593",
    "ibanNumber": "DE02120300000000202051",
}
TEXTS = {"reason": "Rent", "description": "May", "inputAmount": 100}


@pytest.fixture
def payee(merchant: Merchant) -> str:
    """A recipient whose bank account has every number that there is."""
    return adds(merchant, bank=bank(currency="USD", **BANK))


def test_a_payment_is_made_with_every_field(merchant: Merchant, payee: str) -> None:
    made = sends(merchant, receiverId=payee, **TEXTS).data
    assert set(made) == LISTED | {"activityHistory"}
    assert set(made["sender"]) == {"id", "name", "email", "walletAddress"}
    numbers = {name: BANK[name] for name in BANK if name != "bankName"}
    assert made["receiver"] == {"id": payee, "name": "Grace Beispiel", "email": "grace@example.de"} | numbers


@pytest.mark.rule("The detail of a payment has its history and, once the crypto asset arrived, its transaction.")
def test_the_detail_of_a_processed_payment_has_every_field(merchant: Merchant, tester: Tester, payee: str) -> None:
    made = sends(merchant, receiverId=payee, **TEXTS).data
    tester.advances(minutes=6)
    read = details(merchant, made["paymentId"]).data
    assert set(read) == LISTED | {"activityHistory", "transactionHash"}
    assert {name for entry in read["activityHistory"] for name in entry} == {
        *("activity", "status", "description", "_id", "updatedAt"),
    }
    moved = ("status", "updatedAt", "activityHistory", "transactionHash")
    assert {name: read[name] for name in read if name not in moved} == {
        name: made[name] for name in made if name not in moved
    }


def test_tokens_and_currencies_of_the_references_can_be_paid(sandbox: Flask, merchant: Merchant) -> None:
    def listed(path: str) -> list[dict[str, Any]]:
        records = exact(sandbox.test_client().get(f"/v1/reference/{path}").data)["data"]
        assert isinstance(records, list)
        return records

    codes = {record["currency"] for record in listed("currencies")}
    tokens = listed("cryptos")
    assert len(tokens) > 20
    for token in tokens:
        assert set(token["currencies"]) <= codes
        wallet = STELLAR_WALLET if token["id"].endswith("-stellar") else WALLET
        made = sends(merchant, inputCurrency=token["id"], walletAddress=wallet, outputCurrency=token["currencies"][0])
        assert (made.code, made.data["inputCurrency"]) == (201, token["id"])
