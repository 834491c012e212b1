"""`POST /v2/payment` and `GET /v2/payment/detail/{paymentId}`: fields, money, and how a payment moves on."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from flask_paycheckout.sandbox.money.currencies import TOKEN_DECIMALS
from flask_paycheckout.sandbox.world import transitions
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.payments.customers import STELLAR_WALLET, details, found, makes, order, quotes, sends

FIELDS = {
    *("id", "paymentId", "paymentType", "sender", "receiver", "inputAmount", "inputAmountExact", "inputCurrency"),
    *("outputCurrency", "outputAmount", "outputAmountExact", "exchangeFees", "platformFees", "status"),
    *("organizationId", "organizationName", "blockchain", "payOutWallet", "expiredDate", "activityHistory"),
    *("createdAt", "updatedAt"),
}


@pytest.mark.rule("Creating answers 201 and the payment in detail, which is pending.")
def test_a_payment_is_made_with_201_in_the_body_and_is_pending(merchant: Merchant) -> None:
    answer = sends(merchant)
    assert (answer.http_status, answer.code) == (201, 201)
    assert answer.data["status"] == "pending"
    assert set(answer.data) == FIELDS


@pytest.mark.rule("A payment is onramp or offramp; what can be made is the latter.")
def test_a_payment_names_both_sides(merchant: Merchant) -> None:
    payment = sends(merchant).data
    assert payment["paymentType"] == "offramp"
    sender = payment["sender"]
    assert (sender["name"], sender["email"]) == ("Sam Sender", "sam@example.com")
    assert sender["walletAddress"] == order()["walletAddress"]
    assert payment["receiver"] == {
        "id": "5a6d00000000000000000101",
        "name": "Ada Example",
        "email": "ada@example.com",
        "accountNumber": "4000123412",
        "achNumber": "021000021",
    }
    assert (payment["blockchain"], payment["organizationName"]) == ("polygon", "Sandbox Shop")
    assert payment["payOutWallet"] == quotes(merchant).data["payout_wallet"]


def test_the_money_is_that_of_the_quote(merchant: Merchant) -> None:
    payment, quote = sends(merchant, inputAmount=123.456789).data, quotes(merchant, amount="123.456789").data
    assert payment["inputAmount"] == payment["inputAmountExact"] == quote["amount"]
    assert payment["exchangeFees"] + payment["platformFees"] == quote["total_fee_amount"]
    assert payment["outputAmount"] == quote["total_received_amount_in_currency"]


@pytest.mark.rule("A payment needs wallet, amount, sender, recipient and both currencies.")
@pytest.mark.parametrize(
    "field",
    ["walletAddress", "inputAmount", "senderName", "senderEmail", "receiverId", "inputCurrency", "outputCurrency"],
)
def test_a_required_field_is_required(merchant: Merchant, field: str) -> None:
    for missing in (..., None):
        refused = sends(merchant, **{field: missing})
        assert (refused.code, refused.message) == (400, f"{field} is required.")


@pytest.mark.rule("Reason and description may be told, and are kept.")
@pytest.mark.parametrize("field", ["reason", "description", "usNetwork"])
def test_an_optional_field_may_be_absent_or_null(merchant: Merchant, field: str) -> None:
    assert sends(merchant, **{field: None}).code == 201


def test_reason_and_description_are_kept(merchant: Merchant) -> None:
    payment = sends(merchant, reason="Invoice 7", description="For the bridge").data
    assert (payment["reason"], payment["description"]) == ("Invoice 7", "For the bridge")


@pytest.mark.rule("Recipient, token and currency are ones that the service's own lists hold.")
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        pytest.param({"walletAddress": "0x123"}, "walletAddress", id="short-wallet"),
        pytest.param({"walletAddress": STELLAR_WALLET}, "walletAddress", id="wallet-of-another-chain"),
        pytest.param(
            {"walletAddress": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed"}, "walletAddress", id="wrong-checksum"
        ),
        pytest.param({"inputAmount": 0}, "inputAmount", id="zero"),
        pytest.param({"inputAmount": -5}, "inputAmount", id="negative"),
        pytest.param({"inputAmount": "100"}, "inputAmount", id="text"),
        pytest.param({"inputAmount": True}, "inputAmount", id="bool"),
        pytest.param({"inputAmount": 0.0000001}, "inputAmount", id="finer-than-the-token"),
        pytest.param({"inputAmount": 0.000002}, "inputAmount", id="nothing-would-arrive"),
        pytest.param({"senderName": " "}, "senderName", id="blank-name"),
        pytest.param({"senderEmail": "sam"}, "senderEmail", id="no-address"),
        pytest.param({"receiverId": "nobody"}, "receiverId", id="no-recipient"),
        pytest.param({"receiverId": 5}, "receiverId", id="numeric-recipient"),
        pytest.param({"inputCurrency": "doge-moon"}, "inputCurrency", id="no-token"),
        pytest.param({"outputCurrency": "ABC"}, "outputCurrency", id="no-currency"),
        pytest.param({"usNetwork": "swift"}, "usNetwork", id="no-network"),
        pytest.param({"usNetwork": "ACH"}, "usNetwork", id="network-in-capitals"),
        pytest.param({"reason": "x" * 501}, "reason", id="long-reason"),
        pytest.param({"description": 7}, "description", id="numeric-description"),
    ],
)
def test_what_is_no_payment_is_refused_by_name(merchant: Merchant, fields: dict[str, Any], field: str) -> None:
    refused = sends(merchant, **fields)
    assert (refused.code, refused.body["error"]) == (400, "Bad Request")
    assert refused.message.startswith(field)


def test_a_pair_that_is_not_exchanged_is_refused(make_sandbox: MakeSandbox) -> None:
    refused = sends(Merchant(make_sandbox(conversion_refused="422")), outputCurrency="JPY")
    assert refused.code == 422


@pytest.mark.rule("Within the United States the money may go by ach or by wire.")
@pytest.mark.parametrize("network", ["ach", "wire"])
def test_us_network_is_ach_or_wire(merchant: Merchant, network: str) -> None:
    history = sends(merchant, usNetwork=network).data["activityHistory"]
    assert history[0]["description"].endswith(f"by {network}.")


def test_a_stellar_payment_takes_a_stellar_wallet(merchant: Merchant) -> None:
    payment = sends(merchant, inputCurrency="usdc-stellar", walletAddress=STELLAR_WALLET).data
    assert payment["blockchain"] == "stellar"
    assert payment["payOutWallet"].startswith("G")


def test_a_payment_keeps_its_recipient_as_it_was(merchant: Merchant) -> None:
    payment = makes(merchant)
    assert merchant.calls("DELETE", "/v1/recipient/5a6d00000000000000000101").code == 200
    assert details(merchant, payment).data["receiver"]["name"] == "Ada Example"


def test_the_same_sender_has_the_same_id(merchant: Merchant) -> None:
    first, second = sends(merchant).data["sender"], sends(merchant, senderEmail="SAM@example.com").data["sender"]
    other = sends(merchant, senderEmail="other@example.com").data["sender"]
    assert first["id"] == second["id"] != other["id"]


def test_a_payment_that_does_not_exist_is_not_found(merchant: Merchant) -> None:
    refused = details(merchant, "0" * 24)
    assert (refused.code, refused.message) == (404, "Payment not found")


def test_unknown_payment_not_found(make_sandbox: MakeSandbox) -> None:
    assert details(Merchant(make_sandbox(payment_not_found="400")), "none").code == 400


def test_the_expired_date_is_a_day_after_the_creation(merchant: Merchant) -> None:
    payment = sends(merchant).data
    made, expired = (datetime.fromisoformat(payment[name]) for name in ("createdAt", "expiredDate"))
    assert (expired - made).total_seconds() == 24 * 3600


def activities(payment: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["activity"], entry["status"]) for entry in payment["activityHistory"]]


SIGNED = ("Signed by Payee", "pending")
CONVERTED = [("Converted to", "completed"), ("Sent to receipient account", "pending")]
ARRIVED = ("Received by recipient account", "completed")


@pytest.mark.rule("A pending payment is processed by itself once the crypto asset was received.")
def test_a_payment_is_processed_once_the_crypto_asset_was_received(merchant: Merchant, tester: Tester) -> None:
    payment = makes(merchant)
    tester.advances(minutes=4)
    assert details(merchant, payment).data["status"] == "pending"
    tester.advances(minutes=2)
    processed = details(merchant, payment).data
    assert processed["status"] == "processed"
    assert activities(processed) == [SIGNED, *CONVERTED]
    assert processed["transactionHash"].startswith("0x")
    assert len({entry["_id"] for entry in processed["activityHistory"]}) == 3


@pytest.mark.rule("The history names the steps in the service's own spelling.")
@pytest.mark.rule("How a payment is completed or fails is open; by default it is completed.")
def test_a_processed_payment_is_completed_when_the_money_arrives(merchant: Merchant, tester: Tester) -> None:
    payment = makes(merchant)
    tester.advances(minutes=6)
    tester.advances(minutes=6)
    completed = details(merchant, payment).data
    assert completed["status"] == "completed"
    assert activities(completed) == [SIGNED, *CONVERTED, ARRIVED]
    assert completed["updatedAt"] > completed["createdAt"]


def test_a_move_is_made_once(merchant: Merchant, tester: Tester) -> None:
    payment = makes(merchant)
    for _ in range(3):
        tester.advances(hours=1)
    assert len(details(merchant, payment).data["activityHistory"]) == 4


@pytest.mark.parametrize(
    ("progress", "status", "history"),
    [
        ("pending", "pending", [SIGNED]),
        ("processed", "processed", [SIGNED, *CONVERTED]),
        ("failed", "failed", [SIGNED, *CONVERTED, ("Sent to receipient account", "failed")]),
    ],
)
def test_unknown_payment_progress(
    make_sandbox: MakeSandbox, progress: str, status: str, history: list[tuple[str, str]]
) -> None:
    app = make_sandbox(payment_progress=progress)
    payment = makes(Merchant(app))
    Tester(app).advances(hours=1)
    read = details(Merchant(app), payment).data
    assert (read["status"], activities(read)) == (status, history)


def test_more_payments_than_one_transaction_moves_are_all_moved(
    merchant: Merchant, tester: Tester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transitions, "BATCH", 3)
    for _ in range(7):
        makes(merchant)
    tester.advances(hours=1)
    assert merchant.calls("GET", "/v2/payments?status=completed&limit=1").data["totalDocs"] == 7


def test_unknown_absent_fields_null(make_sandbox: MakeSandbox) -> None:
    payment = sends(Merchant(make_sandbox(absent_fields="null"))).data
    assert set(payment) == FIELDS | {"reason", "description", "transactionHash"}
    assert payment["transactionHash"] is None


@pytest.mark.parametrize(("token", "currency"), [("usdc-bsc", "IDR"), ("eth-ethereum", "USD"), ("usdc-polygon", "INR")])
def test_the_largest_amount_is_kept_with_every_digit(merchant: Merchant, token: str, currency: str) -> None:
    amount = "9" * 30 + "." + "9" * TOKEN_DECIMALS[token]
    body = json.dumps(order(inputCurrency=token, outputCurrency=currency)).replace("100,", f"{amount},", 1).encode()
    payment = merchant.calls("POST", "/v2/payment", body).data
    exact = Fraction(Decimal(amount)) - Fraction(payment["exchangeFees"]) - Fraction(payment["platformFees"])
    rate = Fraction(quotes(merchant, inputCurrency=token, outputCurrency=currency).data["rate_amount"])
    assert Fraction(payment["outputAmountExact"]) == exact * rate
    assert len(f"{payment['outputAmountExact']:f}") <= 64
    assert found(merchant, minOutputAmount="9" * 30) == [payment["id"]]
