"""A recipient as the service writes it: its one bank account in an array."""

from __future__ import annotations

import msgspec

from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.records import Moment, Record
from flask_paycheckout.sandbox.world import unknown


class RecipientBank(Record, frozen=True):
    id: str = msgspec.field(name="_id")
    account_name: str
    currency: str
    country: str
    bank_name: str | None = None
    account_number: int | str | None = None
    payment_code: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: str | None = None
    account_type: str | None = None
    ifsc: str | None = None


class RecipientRecord(Record, frozen=True):
    id: str
    name: str
    email: str
    user_id: str
    bank: list[RecipientBank]
    city: str
    address: str
    post_code: str
    created_at: Moment
    updated_at: Moment
    recipient_type: str | None = None
    organization_id: str | None = None
    reference: str | None = None


def represent(recipient: Recipient) -> RecipientRecord:
    """The recipient, ready for the envelope."""
    return RecipientRecord(
        id=recipient.id,
        name=recipient.name,
        email=recipient.email,
        user_id=recipient.user_id,
        bank=[_bank(recipient)],
        city=recipient.city,
        address=recipient.address,
        post_code=recipient.post_code,
        created_at=recipient.created_at,
        updated_at=recipient.updated_at,
        recipient_type=recipient.recipient_type,
        organization_id=recipient.organization_id,
        reference=recipient.reference,
    )


def _bank(recipient: Recipient) -> RecipientBank:
    return RecipientBank(
        id=recipient.bank_id,
        account_name=recipient.account_name,
        currency=recipient.currency,
        country=recipient.country,
        bank_name=recipient.bank_name,
        account_number=written_account_number(recipient.account_number),
        payment_code=recipient.payment_code,
        ach_number=recipient.ach_number,
        fedwire_number=recipient.fedwire_number,
        iban_number=recipient.iban_number,
        account_type=recipient.account_type,
        ifsc=recipient.ifsc if unknown("bank_ifsc") == "shown" else None,
    )


def written_account_number(number: str | None) -> int | str | None:
    """The number as a JSON number where none of its characters would be lost by that: `007` stays a string."""
    if number is None or unknown("account_number_type") == "string":
        return number
    is_number = number.isascii() and number.isdigit() and not number.startswith("0")
    return int(number) if is_number else number
