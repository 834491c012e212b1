"""What each operation refuses: the answer names the field at fault, and nothing is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from flask import Flask

from tests.sandbox.actors import Answer, Merchant, Tester, call
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.disbursements.payers import RECIPIENTS, STELLAR_WALLET, WALLET, Payer, given
from tests.sandbox.payments.customers import quotes, sends
from tests.sandbox.recipients.payees import START, bank, changes, creates

Call = Callable[..., Answer]

ITEM = {"recipientId": RECIPIENTS["USD"], "amount": 12.5}
SENT = {"receiverWalletAddress": WALLET, "amount": 5}
FIAT, FIAT_V1, CRYPTO = "/v2/disbursement/fiat", "/v1/disbursement/fiat", "/v1/disbursement/crypto"
# None is as good as nothing, `...` is nothing.
NO_TEXT = [..., None, "", "  ", 5, ["x"], "a\nb", "x" * 300]
NO_EMAIL = [..., 5, "nobody", "@example.com", "a b@example.com", "a@b@c"]
RECIPIENT: dict[str, Any] = {
    **{"name": NO_TEXT, "email": [..., 5, "nobody"], "bank": [..., None, "x", [bank()], 5]},
    **dict.fromkeys(("address", "city", "postCode"), (..., 5)),
    **{"organizationId": [5], "reference": [5], "recipientType": ["individual", 5]},
}
BANK: dict[str, Any] = {"accountName": [..., 5, ""], "accountNumber": [5], "accountType": ["checking"], "ifsc": [5]}


def reads(path: str) -> Call:
    return lambda app, **query: Merchant(app).calls("GET", f"{path}?{urlencode(query)}")


def lists(path: str) -> Call:
    """A list that anybody may read."""
    return lambda app, **query: call(app, "GET", f"/v1/reference/{path}?{urlencode(query)}")


def pays(path: str, **body: Any) -> Call:
    return lambda app, **fields: Payer(app).sends("POST", path, body | fields)


def updates_deposit(app: Flask, **fields: Any) -> Answer:
    checkout = Merchant(app).makes_checkout()
    Tester(app).picks(checkout)
    refused = Merchant(app).forces_status(checkout, **fields)
    assert Merchant(app).reads_deposit(checkout).data["status"] == "pending"
    return refused


def row(name: str, calls: Call, wrong: dict[str, Any], within: str = "") -> Any:
    """An operation with wrong values of its fields; `within` goes before their names."""
    return pytest.param(calls, wrong, within, id=name)


OPERATIONS = [
    row(
        "register",
        lambda app, **fields: Visitor(app).registers(**fields),
        {
            **{"email": NO_EMAIL, "password": NO_TEXT, "fullName": NO_TEXT, "nationalID": [5], "country": [5]},
            "countryCode": ["NOR", "N1", 47],
        },
    ),
    row(
        "login",
        lambda app, **fields: Visitor(app).logs_in(**fields),
        {"email": [None, 5], "password": [None, 5]},
    ),
    row(
        "verify-login",
        lambda app, **fields: Visitor(app).posts("verify-login", {"verificationToken": "t", "otp": "1"} | fields),
        {"verificationToken": [None, 5], "otp": [None, 5], "isDisableExpire": ["true"]},
    ),
    row(
        "recipient",
        lambda app, **fields: creates(Merchant(app), **fields),
        RECIPIENT,
    ),
    row(
        "bank",
        lambda app, **fields: creates(Merchant(app), bank=bank(**fields)),
        BANK | {"currency": [..., 5, "eur", "usdc-polygon"], "country": [..., 5, ""]},
        within="bank.",
    ),
    row(
        "update",
        lambda app, **fields: changes(Merchant(app), START[0], **fields),
        RECIPIENT,
    ),
    row(
        "update-of-bank",
        lambda app, **fields: changes(Merchant(app), START[0], bank=bank(**fields)),
        BANK | {"currency": [5], "country": [5]},
        within="bank.",
    ),
    row("recipients", reads("/v1/recipient"), dict.fromkeys(("search", "country", "currency"), ("", "\0"))),
    row(
        "payment",
        lambda app, **fields: sends(Merchant(app), **fields),
        {
            "walletAddress": [..., STELLAR_WALLET],
            # Finer than the token, and so little that nothing would arrive.
            "inputAmount": [..., 0, 0.0000001, 0.000002],
            **{"senderName": [..., None, " "], "senderEmail": [..., "sam"], "receiverId": [..., "nobody", 5]},
            **{"inputCurrency": [..., "doge-moon"], "outputCurrency": [..., "ABC"]},
            **{"usNetwork": ["swift", "ACH"], "reason": ["x" * 501], "description": [7]},
        },
    ),
    row(
        "quote",
        lambda app, **query: quotes(Merchant(app), **query),
        {
            "amount": [..., "0", "-1", "NaN", "1e9999", "1.0000001"],
            **{"inputCurrency": [..., "USD"], "outputCurrency": [..., "usd", "XAU"], "withLimit": ["yes"]},
        },
    ),
    row(
        "payments",
        reads("/v2/payments"),
        {"status": ["done"], "minInputAmount": ["many"], "maxOutputAmount": ["1e99"], "search": [""]},
    ),
    row(
        "fiat",
        pays(FIAT, currency="USD", disburseData=[ITEM]),
        {"currency": [None, "usd"], "disburseData": [None, [], ITEM]},
    ),
    row(
        "fiat-item",
        lambda app, **fields: Payer(app).pays(ITEM, ITEM | fields),
        {
            **{"recipientId": ["0" * 24, RECIPIENTS["EUR"]], "reference": ["", 5], "note": ["x" * 501]},
            "amount": [None, 0, 1.005, 0.99, 250000.01],
        },
        within="disburseData[1].",
    ),
    row(
        "fiat-bank",
        lambda app, **fields: Payer(app).pays({"recipient": {"bank": given()["bank"] | fields}, "amount": 5}),
        dict.fromkeys(("bankName", "accountName", "accountNumber"), (None,))
        | {"bankCode": (None, "nowhere", "fr_banque_du_sable")},
        within="disburseData[0].recipient.bank.",
    ),
    row("fiat-v1", pays(FIAT_V1), {"disburseData": [None, [], {}, "x"]}),
    row(
        "fiat-v1-item",
        lambda app, **fields: Payer(app).pays_v1(*(ITEM | {"currency": "USD"} | each for each in ({}, fields))),
        {"currency": [None, "usd"], "recipientId": [None, "0" * 24], "amount": [None, 0, 0.01]},
        within="disburseData[1].",
    ),
    row(
        "crypto",
        pays(CRYPTO, token="usdc-polygon", receivers=[SENT]),
        {"token": [None], "receivers": [None, []]},
    ),
    row(
        "crypto-receiver",
        lambda app, **fields: Payer(app).sends_tokens(SENT, SENT | fields),
        {
            "receiverWalletAddress": [None, WALLET[:-1] + "D", STELLAR_WALLET],
            **{"amount": [None, 0, 0.0000001], "reference": [""], "note": [5]},
        },
        within="receivers[1].",
    ),
    row(
        "estimate",
        lambda app, **query: reads(f"{CRYPTO}/estimate")(app, **{"token": "usdc-polygon", "amount": 7} | query),
        {"token": ["", "doge-moon"], "amount": ["", "0", "7.5"]},
    ),
    row("disbursements", reads(FIAT_V1), {"status": ["done"], "currency": ["usd"]}),
    row(
        "methods",
        lambda app, **query: Payer(app).sends("GET", f"{FIAT_V1}/payment-method?{urlencode(query)}"),
        {"currency": ["usd", "XXX", "usdc-polygon"]},
    ),
    row(
        "update-of-deposit",
        updates_deposit,
        {"status": ["", None, 5, "s" * 41]},
    ),
    row("cryptos", lists("cryptos"), {"useSmartContract": ["yes"], "blockchainType": ["evm"]}),
    row("banks", lists("banks"), {"limit": ["0"], "sort": ["name"], "country": [""], "disbursmentAvailable": ["1"]}),
    row("deposit-methods", lists("payment-methods"), {"isForDeposit": ["TRUE"]}),
]


@pytest.mark.parametrize(("calls", "wrong", "within"), OPERATIONS)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    sandbox: Flask, payer: Payer, calls: Call, wrong: dict[str, list[Any]], within: str
) -> None:
    for field, values in wrong.items():
        for value in values:
            refused = calls(sandbox, **{field: value})
            named = refused.message.split()[0]
            assert (refused.code, refused.body["error"], named) == (400, "Bad Request", within + field), repr(value)
    assert payer.lists()["totalDocs"] == 0
    assert Visitor(sandbox).mails("new@example.com") == []
