"""What requests about recipients send. Everything is checked here, also what a PATCH then leaves as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flask_paycheckout.sandbox.currencies import decimals_of, is_token
from flask_paycheckout.sandbox.email_addresses import EmailAddress
from flask_paycheckout.sandbox.fields import FieldError, optional_text
from flask_paycheckout.sandbox.kinds import Choice, Part, Prose, Text
from flask_paycheckout.sandbox.paging import PageQuery

RECIPIENT_TYPES = ("Individual", "Business")
ACCOUNT_TYPES = ("Checking", "Savings")


@dataclass(frozen=True)
class FiatCode(Text):
    """A currency that a bank account can be held in."""

    most: int = 3

    def read(self, name: str, value: object) -> str | None:
        code = optional_text({name: value}, name)
        if code is not None and (is_token(code) or decimals_of(code) is None):
            raise FieldError(f"{name} must be a currency code of ISO 4217, such as USD.")
        return code


@dataclass(frozen=True, kw_only=True)
class _BankDetails:
    """What an account may say about itself."""

    account_name: Annotated[str, Prose()]
    bank_name: Annotated[str | None, Prose()] = None
    account_number: Annotated[str | None, Text()] = None
    payment_code: Annotated[str | None, Text()] = None
    ach_number: Annotated[str | None, Text()] = None
    fedwire_number: Annotated[str | None, Text()] = None
    iban_number: Annotated[str | None, Text()] = None
    account_type: Annotated[str | None, Choice(ACCOUNT_TYPES)] = None
    ifsc: Annotated[str | None, Text()] = None


@dataclass(frozen=True, kw_only=True)
class NewBank(_BankDetails):
    """The account of a new recipient."""

    currency: Annotated[str, FiatCode()]
    country: Annotated[str, Prose()]


@dataclass(frozen=True, kw_only=True)
class BankUpdate(_BankDetails):
    """The account of a known recipient."""

    currency: Annotated[str | None, FiatCode()] = None
    country: Annotated[str | None, Prose()] = None


@dataclass(frozen=True, kw_only=True)
class _Details:
    """What a recipient says about itself."""

    name: Annotated[str, Prose()]
    email: Annotated[str, EmailAddress()]
    address: Annotated[str, Prose()]
    city: Annotated[str, Prose()]
    post_code: Annotated[str, Text()]
    recipient_type: Annotated[str | None, Choice(RECIPIENT_TYPES)] = None
    organization_id: Annotated[str | None, Text()] = None
    reference: Annotated[str | None, Prose()] = None


@dataclass(frozen=True, kw_only=True)
class NewRecipient(_Details):
    """What `POST /v1/recipient` sends."""

    bank: Annotated[NewBank, Part(NewBank)]


@dataclass(frozen=True, kw_only=True)
class RecipientUpdate(_Details):
    """What `PATCH /v1/recipient/{id}` sends."""

    bank: Annotated[BankUpdate, Part(BankUpdate)]


@dataclass(frozen=True)
class RecipientQuery(PageQuery):
    """Which recipients are listed; country and currency are those of the bank account."""

    search: Annotated[str | None, Prose()] = None
    country: Annotated[str | None, Prose()] = None
    currency: Annotated[str | None, Text()] = None
