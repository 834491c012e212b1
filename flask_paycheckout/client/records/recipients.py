"""Recipients: what is sent for them, and what the service answers about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from flask_paycheckout.client.hidden import AccountNumber, Hidden
from flask_paycheckout.client.records.record import RecipientType, Record

__all__ = ["BankDetails", "Recipient", "RecipientBank"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BankDetails:
    """A recipient's bank account, as it is sent.

    :ivar currency: needed to create a recipient.
    :ivar country: needed to create a recipient.
    :ivar account_type: `Checking` or `Savings`.
    :ivar ifsc: not in the interface's field list; its sample request sends it.
    """

    account_name: str
    currency: str | None = None
    country: str | None = None
    bank_name: str | None = None
    account_number: str | None = field(default=None, repr=False)
    payment_code: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: str | None = field(default=None, repr=False)
    account_type: str | None = None
    ifsc: str | None = None


class RecipientBank(Record, frozen=True, rename="camel"):
    """A recipient's bank account, as the service keeps it."""

    id: str | None = msgspec.field(default=None, name="_id")
    account_name: str | None = None
    bank_name: str | None = None
    payment_code: str | None = None
    currency: str | None = None
    country: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: Hidden | None = None
    account_number: AccountNumber | None = None
    account_type: str | None = None
    ifsc: str | None = None


class Recipient(Record, frozen=True, rename="camel"):
    """Someone who is paid.

    :ivar recipient_type: `Individual` or `Business`.
    :ivar bank: the bank accounts; one is sent, a list is answered.
    :ivar reference: free additional information.
    """

    id: str
    name: str | None = None
    recipient_type: RecipientType | str | None = None
    email: str | None = None
    organization_id: str | None = None
    user_id: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    bank: tuple[RecipientBank, ...] = ()
    city: str | None = None
    address: str | None = None
    post_code: str | None = None
    reference: str | None = None
