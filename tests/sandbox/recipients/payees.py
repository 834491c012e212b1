"""Helpers with which a merchant makes, changes and lists recipients."""

from __future__ import annotations

from typing import Any

from tests.sandbox.actors import Answer, Merchant, without_gaps

START = [f"5a6d0000000000000000010{number}" for number in range(1, 6)]


def payee(**fields: Any) -> dict[str, Any]:
    """A body that is accepted, with fields changed, or left out where they are `...`."""
    body = {
        "name": "Grace Beispiel",
        "email": "grace@example.de",
        "address": "6 Compilerweg",
        "city": "Berlin",
        "postCode": "10115",
        "bank": bank(),
    }
    return without_gaps(body | fields)


def bank(**fields: Any) -> dict[str, Any]:
    return without_gaps({"accountName": "G. Beispiel", "currency": "EUR", "country": "Germany"} | fields)


def creates(merchant: Merchant, **fields: Any) -> Answer:
    return merchant.calls("POST", "/v1/recipient", payee(**fields))


def adds(merchant: Merchant, **fields: Any) -> str:
    """Create a recipient; returns its id."""
    return str(creates(merchant, **fields).data["id"])


def changes(merchant: Merchant, recipient_id: str, **fields: Any) -> Answer:
    return merchant.calls("PATCH", f"/v1/recipient/{recipient_id}", payee(**fields))


def reads(merchant: Merchant, recipient_id: str) -> Answer:
    return merchant.calls("GET", f"/v1/recipient/{recipient_id}")


def deletes(merchant: Merchant, recipient_id: str) -> Answer:
    return merchant.calls("DELETE", f"/v1/recipient/{recipient_id}")


def found(merchant: Merchant, query: str) -> list[str]:
    """The names in a list."""
    return [doc["name"] for doc in merchant.calls("GET", f"/v1/recipient?{query}").data["docs"]]
