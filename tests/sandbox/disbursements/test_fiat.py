"""Both creates of fiat disbursements: every field, whom they pay, and that a batch is all or nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.sandbox.disbursements.payers import RECIPIENTS, Payer, given
from tests.sandbox.recipients.payees import adds, bank

ADA = RECIPIENTS["USD"]
ITEM = {"recipientId": ADA, "amount": 12.5}
BEGINNING = [("Disburse requested", "pending"), ("Recipient validated", "pending")]


def test_the_answer_holds_the_batch(payer: Payer) -> None:
    batch = payer.pays(ITEM | {"reference": "r-1", "note": "May"}, {"recipient": given(), "amount": 20}).data
    assert (batch["totalRecipient"], batch["sumAmount"]) == (2, Decimal("32.50"))
    first, second = batch["disburseData"]
    assert (first["status"], first["reference"]) == ("pending", "r-1")
    assert [(entry["activity"], entry["status"]) for entry in first["activityHistory"]] == BEGINNING
    assert first["groupId"] == second["groupId"] != payer.pays(ITEM).data["disburseData"][0]["groupId"]


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


def test_a_given_recipient_shows_what_it_was_given_with(payer: Payer) -> None:
    recipient = payer.pays({"recipient": given(name=None), "amount": 5}).data["disburseData"][0]["recipient"]
    assert recipient == {"bank": given()["bank"] | {"currency": "USD"}}


def test_an_item_has_one_recipient_and_is_an_object(payer: Payer) -> None:
    for item in ({"amount": 5}, ITEM | {"recipient": given()}, "x"):
        refused = payer.pays(ITEM, item)  # type: ignore[arg-type]
        assert (refused.code, refused.message.split()[0]) == (400, "disburseData[1]")
    assert payer.lists()["totalDocs"] == 0


def test_the_fee_is_flat_plus_percentage_rounded_up_to_a_unit(payer: Payer) -> None:
    for currency, amount, fee in (
        *(("USD", 1, "0.51"), ("USD", 250_000, "250.50"), ("USD", 10.01, "0.52")),
        *(("JPY", 1000, "166"), ("IDR", 123456.78, "2500.00")),
    ):
        batch = payer.pays({"recipientId": RECIPIENTS[currency], "amount": amount}, currency=currency)
        assert batch.data["disburseData"][0]["feeAmount"] == Decimal(fee)


def item(currency: str = "USD", amount: Any = 100, **more: Any) -> dict[str, Any]:
    return {"currency": currency, "recipientId": RECIPIENTS[currency], "amount": amount} | more


def test_the_answer_sums_up_each_currency_and_shows_no_group(payer: Payer) -> None:
    batch = payer.pays_v1(item(reference="r-1", note="May"), item("JPY", 1000), item(amount=20.5)).data
    assert batch["totalRecipient"] == 3
    shown = batch["disburseData"][0]
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


def test_a_recipient_whose_bank_has_no_method_is_not_found_as_the_interface_words_it(payer: Payer) -> None:
    elsewhere = adds(payer, bank=bank(currency="USD", bankName="Elsewhere"))
    for wrong in ({"currency": "EUR"}, {"currency": "CHF"}, {"recipientId": elsewhere}):
        refused = payer.pays_v1(item() | wrong)
        assert refused.body == {"statusCode": 400, "error": "Not Found", "message": "Payment method not found"}


def test_a_listed_disbursement_is_the_one_that_is_read(payer: Payer) -> None:
    """Paid to a saved recipient, to a given one, and by the first version."""
    batch = payer.pays(ITEM | {"reference": "r-1", "note": "May"}, {"recipient": given(), "amount": 20}).data
    first = payer.pays_v1(ITEM | {"currency": "USD", "reference": "r-2"}).data
    read = [payer.sees(item["disbursementId"]) for item in batch["disburseData"] + first["disburseData"]]
    assert payer.lists()["docs"] == read
    assert [payer.lists(f"limit=1&page={page}")["docs"] for page in (1, 2, 3)] == [[record] for record in read]
