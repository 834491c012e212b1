"""`POST /v1/disbursement/fiat`: saved recipients, a currency for each item, sums for each currency."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from flask import Flask

from tests.sandbox.actors import Merchant
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer
from tests.sandbox.fiat_disbursements.test_creating import BEGINNING
from tests.sandbox.recipients.payees import adds, bank


def item(currency: str = "USD", amount: Any = 100, **more: Any) -> dict[str, Any]:
    return {"currency": currency, "recipientId": RECIPIENTS[currency], "amount": amount} | more


@pytest.mark.rule("The first version answers the items without group and history, and the sums of each currency.")
@pytest.mark.rule("No item names a payment method: the recipient's bank is enough.")
@pytest.mark.rule("An item may carry a reference and a note.")
@pytest.mark.rule("What the first version creates is pending, and so is its history.")
def test_the_answer_sums_up_each_currency_and_shows_no_group(payer: Payer) -> None:
    batch = payer.pays_v1(item(reference="r-1", note="May"), item("JPY", 1000), item(amount=20.5)).data
    assert set(batch) == {"totalRecipient", "disburseData", "sumFees", "sumAmount"}
    assert batch["totalRecipient"] == 3
    shown = batch["disburseData"][0]
    assert set(shown) == {
        *("disbursementId", "recipient", "currency", "amount", "status", "feeAmount", "feePercentage"),
        *("reference", "note"),
    }
    assert (shown["reference"], shown["note"], shown["status"]) == ("r-1", "May", "pending")
    record = payer.sees(shown["disbursementId"])
    assert "groupId" not in record
    assert [(entry["activity"], entry["status"]) for entry in record["activityHistory"]] == BEGINNING
    assert batch["sumAmount"] == [
        {"currency": "USD", "totalAmount": Decimal("120.50")},
        {"currency": "JPY", "totalAmount": 1000},
    ]
    assert batch["sumFees"] == [
        {"currency": "USD", "totalAmount": Decimal("1.13")},
        {"currency": "JPY", "totalAmount": 166},
    ]


@pytest.mark.rule(
    "A fiat disbursement of the first version without a payment method is a 400 that calls itself not found."
)
def test_a_recipient_whose_bank_has_no_method_is_not_found_as_the_interface_words_it(payer: Payer) -> None:
    for wrong in (item() | {"currency": "EUR"}, item() | {"currency": "CHF"}):
        refused = payer.pays_v1(wrong)
        assert refused.body == {"statusCode": 400, "error": "Not Found", "message": "Payment method not found"}


def test_a_recipient_at_a_bank_off_the_list_cannot_be_paid(sandbox: Flask, payer: Payer) -> None:
    made = adds(Merchant(sandbox), bank=bank(currency="USD", bankName="Elsewhere"))
    assert payer.pays_v1(item() | {"recipientId": made}).message == "Payment method not found"


@pytest.mark.rule("The first version keeps the limits of the methods too.")
@pytest.mark.rule("The first version takes a list of items, each with a currency, a saved recipient and an amount.")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        pytest.param({"currency": None}, "disburseData[1].currency", id="no-currency"),
        pytest.param({"recipientId": None}, "disburseData[1].recipientId", id="no-recipient"),
        pytest.param({"recipientId": "0" * 24}, "disburseData[1].recipientId", id="unknown-recipient"),
        pytest.param({"amount": None}, "disburseData[1].amount", id="no-amount"),
        pytest.param({"amount": 0.01}, "disburseData[1].amount", id="below-the-minimum"),
    ],
)
def test_a_wrong_item_is_refused_and_nothing_is_made(payer: Payer, wrong: dict[str, Any], field: str) -> None:
    refused = payer.pays_v1(item(), item() | wrong)
    assert (refused.code, refused.message.split()[0]) == (400, field)
    assert payer.lists()["totalDocs"] == 0
