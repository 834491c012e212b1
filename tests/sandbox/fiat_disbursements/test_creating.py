"""`POST /v2/disbursement/fiat`: every field, whom it pays, and that a batch is all or nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from flask import Flask

from tests.sandbox.actors import Merchant
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer, given

ADA = RECIPIENTS["USD"]
ITEM = {"recipientId": ADA, "amount": 12.5}
BEGINNING = [("Disburse requested", "pending"), ("Recipient validated", "pending")]


@pytest.mark.rule("The second version answers the items with group and history, and one sum of each kind.")
@pytest.mark.rule("An item may carry a reference and a note here too.")
@pytest.mark.rule("What the second version creates is pending; its history begins with the request and the recipient.")
@pytest.mark.rule("The items of one request share a group id, and no other request has it.")
def test_the_answer_holds_the_batch(payer: Payer) -> None:
    batch = payer.pays(ITEM | {"reference": "r-1", "note": "May"}, {"recipient": given(), "amount": 20}).data
    assert set(batch) == {"totalRecipient", "disburseData", "sumFees", "sumAmount"}
    assert (batch["totalRecipient"], batch["sumAmount"]) == (2, Decimal("32.50"))
    assert set(batch["disburseData"][0]) == {
        *("disbursementId", "groupId", "recipient", "currency", "amount", "status", "feeAmount", "feePercentage"),
        *("activityHistory", "reference"),
    }
    first, second = batch["disburseData"]
    assert first["status"] == "pending"
    assert [(entry["activity"], entry["status"]) for entry in first["activityHistory"]] == BEGINNING
    assert first["groupId"] == second["groupId"] != payer.pays(ITEM).data["disburseData"][0]["groupId"]


@pytest.mark.rule("A saved recipient is one that exists, and is shown with its bank.")
def test_a_saved_recipient_is_shown_with_its_bank(payer: Payer) -> None:
    recipient = payer.pays(ITEM).data["disburseData"][0]["recipient"]
    assert recipient == {
        "recipientId": ADA,
        "email": "ada@example.com",
        "name": "Ada Example",
        "bank": {
            "bankName": "First Sandbox Bank",
            "accountName": "Ada Example",
            "accountNumber": "4000123412",
            "bankCode": "us_first_sandbox",
            "currency": "USD",
            "country": "United States",
        },
    }


@pytest.mark.rule("A given recipient may leave out name and e-mail address, but not the bank.")
def test_a_given_recipient_shows_what_it_was_given_with(payer: Payer) -> None:
    recipient = payer.pays({"recipient": given(name=None), "amount": 5}).data["disburseData"][0]["recipient"]
    assert recipient == {
        "bank": {
            "bankName": "Some Bank",
            "accountName": "Z. Quist",
            "accountNumber": "00991",
            "bankCode": "us_first_sandbox",
            "currency": "USD",
        }
    }


def test_the_past_keeps_a_recipient_that_is_deleted(sandbox: Flask, payer: Payer) -> None:
    made = payer.pays_one()
    assert Merchant(sandbox).calls("DELETE", f"/v1/recipient/{ADA}").code == 200
    assert payer.sees(made)["recipient"]["name"] == "Ada Example"


@pytest.mark.rule("Each item has a saved recipient or a given one, not both and not neither.")
@pytest.mark.parametrize(
    ("item", "field"),
    [
        pytest.param({"amount": 5}, "disburseData[0]", id="no-recipient"),
        pytest.param(ITEM | {"recipient": given()}, "disburseData[0]", id="both-recipients"),
        pytest.param(ITEM | {"recipientId": "0" * 24}, "disburseData[0].recipientId", id="unknown-recipient"),
        pytest.param(
            ITEM | {"recipientId": RECIPIENTS["EUR"]}, "disburseData[0].recipientId", id="account-in-another-currency"
        ),
        pytest.param({"recipientId": ADA}, "disburseData[0].amount", id="no-amount"),
        pytest.param(ITEM | {"amount": 0}, "disburseData[0].amount", id="zero"),
        pytest.param(ITEM | {"amount": 1.005}, "disburseData[0].amount", id="more-decimals-than-the-currency"),
        pytest.param(ITEM | {"amount": 0.99}, "disburseData[0].amount", id="below-the-minimum"),
        pytest.param(ITEM | {"amount": 250000.01}, "disburseData[0].amount", id="above-the-maximum"),
        pytest.param(ITEM | {"reference": ""}, "disburseData[0].reference", id="empty-reference"),
        pytest.param(ITEM | {"note": "x" * 501}, "disburseData[0].note", id="long-note"),
        pytest.param({"recipient": {}, "amount": 5}, "disburseData[0].recipient.bank", id="no-bank"),
        pytest.param("x", "disburseData[0]", id="no-object"),
    ],
)
def test_a_wrong_item_is_refused_naming_the_field_and_nothing_is_made(payer: Payer, item: Any, field: str) -> None:
    refused = payer.pays(item, ITEM)
    assert (refused.code, refused.body["error"]) == (400, "Bad Request")
    assert refused.message.split()[0] == field
    assert payer.lists()["totalDocs"] == 0


@pytest.mark.rule("The bank of a given recipient is told in full.")
@pytest.mark.rule("A bank code is one of the list of payment methods.")
def test_a_given_bank_needs_all_of_its_fields_and_a_code_of_the_currency(payer: Payer) -> None:
    for field in ("bankName", "accountName", "accountNumber", "bankCode"):
        refused = payer.pays({"recipient": given() | {"bank": given()["bank"] | {field: None}}, "amount": 5})
        assert refused.message == f"disburseData[0].recipient.bank.{field} is required."
    for code in ("nowhere", "fr_banque_du_sable"):
        refused = payer.pays({"recipient": given(bankCode=code), "amount": 5})
        assert refused.code == 400
        assert refused.message.startswith("disburseData[0].recipient.bank.bankCode leads to no bank of the USD")


@pytest.mark.rule("The second version takes one currency for all items, and a list of them.")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({"disburseData": [ITEM]}, "currency", id="no-currency"),
        pytest.param({"currency": "usd", "disburseData": [ITEM]}, "currency", id="no-currency-code"),
        pytest.param({"currency": "USD"}, "disburseData", id="no-items"),
        pytest.param({"currency": "USD", "disburseData": []}, "disburseData", id="empty"),
        pytest.param({"currency": "USD", "disburseData": ITEM}, "disburseData", id="no-list"),
    ],
)
def test_a_wrong_body_is_refused_naming_the_field(payer: Payer, body: Any, field: str) -> None:
    refused = payer.sends("POST", "/v2/disbursement/fiat", body)
    assert (refused.code, refused.message.split()[0]) == (400, field)


@pytest.mark.rule("A fiat disbursement stays within the least and the most of its payment method, both included.")
def test_the_fee_is_flat_plus_percentage_rounded_up_to_a_unit(payer: Payer) -> None:
    def fee(currency: str, amount: Any) -> Any:
        item = {"recipientId": RECIPIENTS[currency], "amount": amount}
        return payer.pays(item, currency=currency).data["disburseData"][0]["feeAmount"]

    assert (fee("USD", 1), fee("USD", 250_000)) == (Decimal("0.51"), Decimal("250.50"))
    assert fee("USD", 10) == Decimal("0.51")
    assert fee("USD", 10.01) == Decimal("0.52")
    assert fee("JPY", 1000) == 166
    assert fee("IDR", 123456.78) == Decimal("2500.00")
