"""Helpers with which a merchant quotes, makes and lists payments."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from tests.sandbox.actors import Answer, Merchant, without_gaps
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET


def order(**fields: Any) -> dict[str, Any]:
    """A body that is accepted, with fields changed, or left out where they are `...`."""
    body: dict[str, Any] = {
        "walletAddress": WALLET,
        "inputAmount": 100,
        "senderName": "Sam Sender",
        "senderEmail": "sam@example.com",
        "receiverId": RECIPIENTS["USD"],
        "inputCurrency": "usdc-polygon",
        "outputCurrency": "USD",
    } | fields
    return without_gaps(body)


def sends(merchant: Merchant, **fields: Any) -> Answer:
    return merchant.calls("POST", "/v2/payment", order(**fields))


def makes(merchant: Merchant, **fields: Any) -> str:
    """Make a payment; returns its id."""
    return str(sends(merchant, **fields).data["paymentId"])


def quotes(merchant: Merchant, **query: Any) -> Answer:
    parameters = {"amount": 100, "inputCurrency": "usdc-polygon", "outputCurrency": "USD"} | query
    return merchant.calls("GET", "/v2/payment/quote?" + urlencode(without_gaps(parameters)))


def details(merchant: Merchant, payment_id: str) -> Answer:
    return merchant.calls("GET", f"/v2/payment/detail/{payment_id}")


def lists(merchant: Merchant, **query: Any) -> Answer:
    return merchant.calls("GET", f"/v2/payments?{urlencode(query)}".rstrip("?"))


def found(merchant: Merchant, **query: Any) -> list[str]:
    """The ids in a list."""
    return [payment["paymentId"] for payment in lists(merchant, **query).data["docs"]]
