"""`POST /v2/payment` and `GET /v2/payment/detail/{paymentId}`: fields, amounts, and a payment's transitions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.payments.customers import details, lists, order, quotes, sends
from tests.sandbox.recipients.payees import adds, bank

TEXTS = {"reason": "Invoice 7", "description": "For the bridge"}
NUMBERS = {
    **{"accountNumber": "0099", "ifsc": "SAND0001", "achNumber": "021000021", "fedwireNumber": "026009593"},
    "ibanNumber": "DE02120300000000202051",
}


def test_a_payment_is_made_and_listed_with_every_field_that_has_a_value(merchant: Merchant) -> None:
    payee = adds(merchant, bank=bank(currency="USD", bankName="Bank of Everything", **NUMBERS))
    answer = sends(merchant, receiverId=payee, **TEXTS)
    payment = answer.data
    assert (answer.http_status, answer.code) == (201, 201)
    assert {name: payment[name] for name in TEXTS} == TEXTS
    assert (payment["paymentType"], payment["status"], payment["blockchain"]) == ("offramp", "pending", "polygon")
    assert payment["organizationName"] == "Sandbox Shop"
    sender = {"name": "Sam Sender", "email": "sam@example.com", "walletAddress": order()["walletAddress"]}
    assert payment["sender"] == sender | {"id": payment["sender"]["id"]}
    assert payment["receiver"] == {"id": payee, "name": "Grace Beispiel", "email": "grace@example.de"} | NUMBERS
    assert payment["payOutWallet"] == quotes(merchant).data["payout_wallet"]
    created, expired = (datetime.fromisoformat(payment[name]) for name in ("createdAt", "expiredDate"))
    assert (expired - created).total_seconds() == 24 * 3600
    (listed,) = lists(merchant).data["docs"]
    assert payment.keys() - listed.keys() == {"activityHistory", "transactionHash"}
    assert set(listed["receiver"]) == {"id", "name", "email", "accountNumber", "bankName"}


def test_the_money_is_that_of_the_quote_and_the_recipient_and_sender_stay(merchant: Merchant) -> None:
    payment, quote = sends(merchant, inputAmount=123.456789).data, quotes(merchant, amount="123.456789").data
    assert payment["inputAmount"] == payment["inputAmountExact"] == quote["amount"]
    assert payment["exchangeFees"] + payment["platformFees"] == quote["total_fee_amount"]
    assert payment["outputAmount"] == quote["total_received_amount_in_currency"]
    senders = [sends(merchant, senderEmail=address).data["sender"]["id"] for address in ("SAM@example.com", "b@b.org")]
    assert senders[0] == payment["sender"]["id"] != senders[1]
    assert merchant.calls("DELETE", f"/v1/recipient/{payment['receiver']['id']}").code == 200
    assert details(merchant, payment["id"]).data["receiver"] == payment["receiver"]


def activities(payment: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["activity"], entry["status"]) for entry in payment["activityHistory"]]


SIGNED = ("Signed by Payee", "pending")
CONVERTED = [("Converted to", "completed"), ("Sent to receipient account", "pending")]
ARRIVED = ("Received by recipient account", "completed")


def test_a_payment_is_processed_and_completed_once_each(merchant: Merchant, tester: Tester) -> None:
    payment = sends(merchant, usNetwork="ach").data
    assert payment["activityHistory"][0]["description"].endswith("by ach.")
    tester.advances(minutes=4)
    assert details(merchant, payment["id"]).data == payment
    tester.advances(minutes=2)
    processed = details(merchant, payment["id"]).data
    assert (processed["status"], activities(processed)) == ("processed", [SIGNED, *CONVERTED])
    assert processed["transactionHash"].startswith("0x")
    assert len({entry["_id"] for entry in processed["activityHistory"]}) == 3
    for _ in range(3):
        tester.advances(hours=1)
    completed = details(merchant, payment["id"]).data
    assert (completed["status"], activities(completed)) == ("completed", [SIGNED, *CONVERTED, ARRIVED])
