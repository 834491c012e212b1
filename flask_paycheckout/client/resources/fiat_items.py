"""The items of fiat disbursements on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask_paycheckout.client.amounts import as_number, exact_amount
from flask_paycheckout.client.bodies import needed, secret, texts
from flask_paycheckout.client.records.fiat_disbursements import FiatItem, FiatItemV1, NewRecipient, PayoutBank

if TYPE_CHECKING:
    from flask_paycheckout.client.envelope import JsonObject

__all__ = ["item_body", "item_v1_body"]


def item_body(place: str, item: FiatItem, currency: str) -> JsonObject:
    """The item on the wire; `place` names it in complaints."""
    if (item.recipient_id is None) == (item.recipient is None):
        raise ValueError(f"{place}recipient_id or {place}recipient must be given, and not both")
    body: JsonObject = texts(place, recipient_id=item.recipient_id)
    if item.recipient is not None:
        body["recipient"] = _recipient(f"{place}recipient", item.recipient)
    body["amount"] = as_number(exact_amount(f"{place}amount", item.amount, currency))
    return body | texts(place, reference=item.reference, note=item.note)


def _recipient(place: str, recipient: NewRecipient) -> JsonObject:
    _of_kind(place, recipient, NewRecipient)
    bank = recipient.bank
    _of_kind(f"{place}.bank", bank, PayoutBank)
    account_number = secret(f"{place}.bank.account_number", bank.account_number)
    body: JsonObject = texts(f"{place}.", email=recipient.email, name=recipient.name)
    body["bank"] = needed(
        f"{place}.bank.", bank_name=bank.bank_name, account_name=bank.account_name, bank_code=bank.bank_code
    ) | {"accountNumber": account_number}
    return body


def _of_kind(place: str, value: object, kind: type[Any]) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{place} must be a {kind.__name__}, not {type(value).__name__}")


def item_v1_body(place: str, item: FiatItemV1) -> JsonObject:
    body: JsonObject = needed(place, currency=item.currency, recipient_id=item.recipient_id)
    body["amount"] = as_number(exact_amount(f"{place}amount", item.amount, item.currency))
    return body | texts(place, reference=item.reference, note=item.note)
