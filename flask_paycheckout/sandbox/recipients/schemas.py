"""Requests and records of recipients; a record has the one bank account in an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp
from flask_paycheckout.sandbox.wire.field_types import (
    Choice,
    EmailAddress,
    Nested,
    Note,
    OptionalFiatCode,
    OptionalFreeText,
    OptionalText,
    RequiredFiatCode,
    RequiredFreeText,
    RequiredText,
)
from flask_paycheckout.sandbox.wire.paging import PageQuery
from flask_paycheckout.sandbox.world.context import assumption


@dataclass(frozen=True)
class WhichRecipient:
    """The recipient's id in the query, as in the interface's sample of the delete operation."""

    id: RequiredText


RECIPIENT_TYPES = ("Individual", "Business")


ACCOUNT_TYPES = ("Checking", "Savings")


@dataclass(frozen=True, kw_only=True)
class _BankDetails:
    """Fields of a bank account in both requests."""

    account_name: RequiredFreeText
    bank_name: OptionalFreeText = None
    account_number: OptionalText = None
    payment_code: OptionalText = None
    ach_number: OptionalText = None
    fedwire_number: OptionalText = None
    iban_number: OptionalText = None
    account_type: Annotated[str | None, Choice(ACCOUNT_TYPES)] = None
    ifsc: OptionalText = None


@dataclass(frozen=True, kw_only=True)
class NewBank(_BankDetails):
    """The bank account of a new recipient."""

    currency: RequiredFiatCode
    country: RequiredFreeText


@dataclass(frozen=True, kw_only=True)
class BankUpdate(_BankDetails):
    """The bank account in a change of a recipient."""

    currency: OptionalFiatCode = None
    country: OptionalFreeText = None


@dataclass(frozen=True, kw_only=True)
class _Details:
    """Fields of a recipient in both requests."""

    name: RequiredFreeText
    email: Annotated[str, EmailAddress()]
    address: RequiredFreeText
    city: RequiredFreeText
    post_code: RequiredText
    recipient_type: Annotated[str | None, Choice(RECIPIENT_TYPES)] = None
    organization_id: OptionalText = None
    reference: Annotated[str | None, Note()] = None


@dataclass(frozen=True, kw_only=True)
class NewRecipient(_Details):
    """The body of `POST /v1/recipient`."""

    bank: Annotated[NewBank, Nested(NewBank)]


@dataclass(frozen=True, kw_only=True)
class RecipientUpdate(_Details):
    """The body of `PATCH /v1/recipient/{id}`."""

    bank: Annotated[BankUpdate, Nested(BankUpdate)]


@dataclass(frozen=True)
class RecipientQuery(PageQuery):
    """The query of the list; country and currency are those of the bank account."""

    search: OptionalFreeText = None
    country: OptionalFreeText = None
    currency: OptionalFiatCode = None


class RecipientBank(Record):
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


class RecipientRecord(Record):
    id: str
    name: str
    email: str
    user_id: str
    bank: list[RecipientBank]
    city: str
    address: str
    post_code: str
    created_at: Timestamp
    updated_at: Timestamp
    recipient_type: str | None = None
    organization_id: str | None = None
    reference: str | None = None


def represent(recipient: Recipient) -> RecipientRecord:
    """Convert a recipient to its record."""
    bank = RecipientBank.of(
        recipient,
        id=recipient.bank_id,
        account_number=written_account_number(recipient.account_number),
        ifsc=recipient.ifsc if assumption("bank_ifsc") == "shown" else None,
    )
    return RecipientRecord.of(recipient, bank=[bank])


def written_account_number(number: str | None) -> int | str | None:
    """An account number as JSON number, unless digits would be lost: `007` stays a string."""
    if number is None or assumption("account_number_type") == "string":
        return number
    is_number = number.isascii() and number.isdigit() and not number.startswith("0")
    return int(number) if is_number else number
