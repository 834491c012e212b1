"""Refusals of each operation: the answer names the field at fault, and the call has no effect.

A value that its description excludes is a 400. A valid value that cannot be used may have its own code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from flask import Flask

from tests.sandbox.actors import Answer, Merchant, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, STELLAR_WALLET, WALLET, Payer, given
from tests.sandbox.payments.customers import quotes, sends
from tests.sandbox.recipients.payees import START, bank, changes, creates

Call = Callable[..., Answer]

ITEM = {"recipientId": RECIPIENTS["USD"], "amount": 12.5}
SENT = {"receiverWalletAddress": WALLET, "amount": 5}
# None counts as absent, and `...` leaves the field out.
NO_TEXT = [..., None, "", "  ", 5, "x" * 300]
NO_EMAIL = [..., 5, "nobody", "a b@example.com"]


def reads(path: str, **query: Any) -> Call:
    return lambda app, **fields: Payer(app).reads(f"{path}?{urlencode(query | fields)}")


def pays(path: str, **body: Any) -> Call:
    return lambda app, **fields: Payer(app).sends("POST", path, body | fields)


def updates_deposit(app: Flask, **fields: Any) -> Answer:
    checkout = Merchant(app).makes_checkout()
    Tester(app).picks(checkout)
    refused = Merchant(app).forces_status(checkout, **fields)
    assert Merchant(app).reads_deposit(checkout).data["status"] == "pending"
    return refused


OPERATIONS: dict[str, tuple[Call, dict[str, Any], str]] = {
    "register": (
        lambda app, **fields: Visitor(app).registers(**fields),
        {"email": NO_EMAIL, "password": [...], "fullName": [...], "countryCode": ["NOR"]},
        "",
    ),
    "login": (lambda app, **fields: Visitor(app).logs_in(**fields), {"email": [None], "password": [None]}, ""),
    "verify-login": (
        lambda app, **fields: Visitor(app).posts("verify-login", {"verificationToken": "t", "otp": "1"} | fields),
        {"verificationToken": [None], "otp": [None], "isDisableExpire": ["true"]},
        "",
    ),
    "recipient": (
        lambda app, **fields: creates(Merchant(app), **fields),
        {"name": NO_TEXT, "city": [...], "bank": [...], "recipientType": ["individual"]},
        "",
    ),
    "bank": (
        lambda app, **fields: creates(Merchant(app), bank=bank(**fields)),
        {"accountName": [...], "currency": ["eur"], "country": [...], "accountType": ["checking"]},
        "bank.",
    ),
    "update": (
        lambda app, **fields: changes(Merchant(app), START[0], **fields),
        {"name": [...], "email": [...], "city": [...], "bank": [...]},
        "",
    ),
    "recipients": (reads("/v1/recipient"), {"search": ["", "\0"]}, ""),
    "payment": (
        lambda app, **fields: sends(Merchant(app), **fields),
        {
            **{"walletAddress": [...], "inputAmount": [...], "senderName": [...], "senderEmail": ["sam"]},
            **{"usNetwork": ["swift"], "inputCurrency": ["doge-moon"], "outputCurrency": [..., "XAU"]},
        },
        "",
    ),
    "quote": (
        lambda app, **query: quotes(Merchant(app), **query),
        {"amount": [..., "0", "NaN"], "inputCurrency": ["USD"], "outputCurrency": ["XAU"], "withLimit": ["yes"]},
        "",
    ),
    "payments": (reads("/v2/payments"), {"status": ["done"], "minInputAmount": ["many"]}, ""),
    "fiat": (
        pays("/v2/disbursement/fiat", currency="USD", disburseData=[ITEM]),
        {"currency": [None, "usd"], "disburseData": [None, [], ITEM]},
        "",
    ),
    "fiat-item": (
        lambda app, **fields: Payer(app).pays(ITEM, ITEM | fields),
        {
            "amount": [0],
            "note": ["x" * 501],
        },
        "disburseData[1].",
    ),
    "fiat-bank": (
        lambda app, **fields: Payer(app).pays({"recipient": {"bank": given()["bank"] | fields}, "amount": 5}),
        {"accountNumber": [None], "bankCode": [None]},
        "disburseData[0].recipient.bank.",
    ),
    "fiat-v1-item": (
        lambda app, **fields: Payer(app).pays_v1(*(ITEM | {"currency": "USD"} | each for each in ({}, fields))),
        {"currency": [None, "usd"], "recipientId": [None]},
        "disburseData[1].",
    ),
    "crypto": (
        pays("/v1/disbursement/crypto", token="usdc-polygon", receivers=[SENT]),
        {"token": [None], "receivers": [None]},
        "",
    ),
    "crypto-receiver": (
        lambda app, **fields: Payer(app).sends_tokens(SENT, SENT | fields),
        {"receiverWalletAddress": [WALLET[:-1]], "amount": [None]},
        "receivers[1].",
    ),
    "estimate": (
        reads("/v1/disbursement/crypto/estimate", token="usdc-polygon", amount=7),
        {"token": ["", "doge-moon"], "amount": ["", "7.5"]},
        "",
    ),
    "update-of-deposit": (updates_deposit, {"status": [None, 5, "s" * 41]}, ""),
    "banks": (reads("/v1/reference/banks"), {"sort": ["name"], "disbursmentAvailable": ["1"]}, ""),
}
_FINER_THAN_THE_TOKEN, _TOO_LITTLE_TO_ARRIVE = 0.0000001, 0.000002
UNUSABLE: dict[str, dict[str, Any]] = {
    "payment": {
        "walletAddress": [STELLAR_WALLET],
        "inputAmount": [_FINER_THAN_THE_TOKEN, _TOO_LITTLE_TO_ARRIVE],
        **{"receiverId": ["nobody"], "inputCurrency": ["USD"]},
    },
    "fiat-item": {"recipientId": ["0" * 24, RECIPIENTS["EUR"]], "amount": [1.005, 0.99, 250000.01]},
    "fiat-bank": {"bankCode": ["nowhere"]},
    "fiat-v1-item": {"recipientId": ["0" * 24], "amount": [0.01]},
    "crypto-receiver": {"receiverWalletAddress": [STELLAR_WALLET], "amount": [_FINER_THAN_THE_TOKEN]},
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(make_sandbox: MakeSandbox, name: str) -> None:
    sandbox = make_sandbox(unusable_error="404")
    calls, wrong, within = OPERATIONS[name]
    for code, fields in ((400, wrong), (404, UNUSABLE.get(name, {}))):
        for field, value in ((field, value) for field, values in fields.items() for value in values):
            refused = calls(sandbox, **{field: value})
            assert (refused.code, refused.message.split()[0]) == (code, within + field), repr(value)
    assert Payer(sandbox).lists()["totalDocs"] == 0
    assert Visitor(sandbox).mails("new@example.com") == []


@pytest.mark.parametrize("body", [rb'{"inputCurrency": "USD", "inputAmount": "\ud800"}', rb'{"\ud800": 1}'])
def test_half_of_a_surrogate_pair_is_refused(merchant: Merchant, tester: Tester, body: bytes) -> None:
    assert merchant.calls("POST", "/v1/checkout", body).code == 400
    assert tester.refuses("POST", "trigger", body) == (400, "body")
