"""Entries of start files, and files with one fault each."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.sandbox.disbursements.payers import WALLET

ID = "c0ffee0000000000000000a1"
DOLLARS = {"inputCurrency": "USD", "inputAmount": Decimal("12.50")}
BANK = {"accountName": "Cora", "currency": "USD", "country": "United States", "paymentCode": "us_first_sandbox"}
CORA = {"name": "Cora", "email": "cora@example.com", "address": "1 Main", "city": "S", "postCode": "1", "bank": BANK}
PAYMENT = {
    "walletAddress": WALLET,
    "inputCurrency": "usdc-polygon",
    "outputCurrency": "USD",
    "inputAmount": 50,
    "senderName": "Ann",
    "senderEmail": "ann@example.com",
    "receiverId": "5a6d00000000000000000101",
}

#: Faults that are found before anything is made, each with its file and what is said.
WRONG: dict[str, tuple[Any, str]] = {
    "part": ({"checkout": []}, "checkout is no part of a start file; its parts are: accounts, paymentMethods"),
    "no list": ({"checkouts": {"a": 1}}, "checkouts must be a list of at most 1000 tables"),
    "no table": ({"checkouts": [1]}, "checkouts[0] must be a table"),
    "too many": ({"checkouts": [DOLLARS] * 1001}, "checkouts must be a list of at most 1000"),
    "field": ({"checkouts": [DOLLARS | {"status": "paid"}]}, "checkouts[0].status is no field; the fields are: "),
    "inner field": ({"recipients": [CORA | {"bank": BANK | {"x": 1}}]}, "recipients[0].bank.x is no field"),
    "listed field": (
        {"accounts": [{"name": "a", "paymentMethods": [{"code": "us_qr", "enabled": True, "fee": 1}]}]},
        "accounts[0].paymentMethods[0].fee is no field",
    ),
    "missing": ({"checkouts": [{"inputAmount": 5}]}, "checkouts[0].inputCurrency is required."),
    "state": ({"checkouts": [DOLLARS | {"state": "done"}]}, "checkouts[0].state must be one of: open, picked"),
    "age": ({"checkouts": [DOLLARS | {"age": "2 days"}]}, "checkouts[0].age must be a text like 90s, 15m, 2h or 3d"),
    "old": ({"checkouts": [DOLLARS | {"age": "9999d"}]}, "checkouts[0].age must be"),
    "id": ({"checkouts": [DOLLARS | {"id": "1"}]}, "checkouts[0].id must be 24 hexadecimal digits"),
    "amount": ({"checkouts": [DOLLARS | {"inputAmount": "5"}]}, "checkouts[0].inputAmount must be a number"),
    "infinite": (
        {"checkouts": [DOLLARS | {"inputAmount": Decimal("inf")}]},
        "checkouts[0].inputAmount must be a number",
    ),
    "type": ({"checkouts": [DOLLARS | {"inputAmount": {1}}]}, "inputAmount must be"),
    "name": ({"accounts": [{"name": "-"}]}, "accounts[0].name '-' cannot be the name of an account"),
    "secret": ({"accounts": [{"name": "a", "clientSecret": "a b"}]}, "accounts[0].clientSecret must be 1 to 80"),
    "url": ({"accounts": [{"name": "a", "webhookUrl": "ftp://localhost/"}]}, "webhookUrl is no http or https address"),
    "first account": ({"accounts": [{"name": "default", "password": "p"}]}, "leave its credentials out"),
    "same name": ({"accounts": [{"name": "a"}, {"name": "a"}]}, "accounts has two entries with the name 'a'"),
    "same id": ({"checkouts": [DOLLARS | {"id": ID}] * 2}, f"checkouts has two entries with the id '{ID}'"),
    "account": ({"checkouts": [DOLLARS | {"account": "bo"}]}, "checkouts[0].account must be default or the name of"),
}
#: Faults that the rules of the service find.
REFUSED: dict[str, tuple[Any, str]] = {
    "currency": ({"checkouts": [DOLLARS | {"inputCurrency": "XXX"}]}, "checkouts[0].inputCurrency is no currency"),
    "limits": ({"checkouts": [DOLLARS | {"inputAmount": 10**9}]}, "checkouts[0] is refused by the service: The amount"),
    "method": (
        {"checkouts": [DOLLARS | {"state": "paid", "paymentMethod": "x"}]},
        "checkouts[0].paymentMethod must be one of: us_bank_transfer",
    ),
    "needless method": (
        {"checkouts": [DOLLARS | {"paymentMethod": "us_qr"}]},
        "checkouts[0].paymentMethod is for states",
    ),
    "needless amount": (
        {"checkouts": [DOLLARS | {"state": "failed", "paidAmount": 5}]},
        "paidAmount is for the states",
    ),
    "needless webhook": ({"checkouts": [DOLLARS | {"webhook": "waiting"}]}, "webhook is for states"),
    "reference": (
        {"checkouts": [DOLLARS | {"state": "picked", "reference": "r"}] * 2},
        "checkouts[1] is not possible: the reference is that of another deposit",
    ),
    "open": ({"checkouts": [DOLLARS | {"age": "1h"}]}, "checkouts[0].age must be less than 15m"),
    "picked": ({"checkouts": [DOLLARS | {"state": "picked", "age": "2d"}]}, 'write state = "expired"'),
    "expired": ({"checkouts": [DOLLARS | {"state": "expired", "age": "1d"}]}, "age must be at least 1 day, 0:01:00"),
    "late": ({"checkouts": [DOLLARS | {"state": "paid-late", "age": "9m"}]}, "age must be at least 16m"),
    "decimals": (
        {"checkouts": [DOLLARS | {"state": "paid", "paidAmount": Decimal("1.001")}]},
        "more decimals than USD",
    ),
    "recipient id": (
        {"recipients": [CORA | {"id": "5a6d00000000000000000101"}]},
        "recipients[0].id is that of another",
    ),
    "recipient": ({"payouts": [{"recipient": "Nobody", "amount": 5}]}, "payouts[0].recipient must be the id"),
    "to nobody": ({"payouts": [{"amount": 5}]}, "payouts[0].recipient, or token and walletAddress, must be given"),
    "half a wallet": (
        {"payouts": [{"token": "usdc-polygon", "amount": 5}]},
        "token and walletAddress must both be given",
    ),
    "wallet": (
        {"payouts": [{"token": "usdc-polygon", "walletAddress": "0x1", "amount": 5}]},
        "payouts[0].walletAddress ",
    ),
    "token": (
        {"payouts": [{"token": "x", "walletAddress": WALLET, "amount": 5}]},
        "payouts[0] is refused by the service",
    ),
    "payout": ({"payouts": [{"recipient": "Ada Example", "amount": Decimal("0.001")}]}, "payouts[0].amount "),
    "pending webhook": (
        {"payouts": [{"recipient": "Ada Example", "amount": 5, "webhook": "waiting"}]},
        "webhook is for the states completed and failed",
    ),
    "receiver": ({"payments": [PAYMENT | {"receiverId": "x"}]}, "payments[0] is refused by the service: receiverId"),
    "new method": ({"paymentMethods": [{"code": "x", "name": "X"}]}, "paymentMethods[0].group is required"),
    "fee": (
        {"paymentMethods": [{"code": "us_qr", "percentFeeAmount": 100}]},
        "percentFeeAmount must be from 0 to less",
    ),
    "negative fee": (
        {"paymentMethods": [{"code": "us_qr", "flatFeeAmount": -1}]},
        "flatFeeAmount must not be negative",
    ),
    "bounds": ({"paymentMethods": [{"code": "us_qr", "minAmount": 9999}]}, "minAmount must not be above maxAmount"),
    "no token": ({"paymentMethods": [{"code": "us_qr", "group": "crypto"}]}, "token and tokenRate are required"),
    "needless token": ({"paymentMethods": [{"code": "us_qr", "token": "x"}]}, "token and tokenRate are for the group"),
    "money": ({"paymentMethods": [{"code": "us_qr", "currency": "XXX"}]}, "paymentMethods[0].currency is no currency"),
    "new pair": ({"conversions": [{"inputCurrency": "USD", "outputCurrency": "SEK"}]}, "rate is required"),
    "switch": (
        {"accounts": [{"name": "default", "paymentMethods": [{"code": "x", "enabled": True}]}]},
        "accounts[0].code x does not exist",
    ),
}
