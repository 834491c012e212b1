"""The entries of a start file, as classes that declare their fields like the requests of the service."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.checkouts.schemas import NewCheckout
from flask_paycheckout.sandbox.checkouts.tables import BANK_TRANSFER, CRYPTO, QR
from flask_paycheckout.sandbox.crypto_disbursements.tables import MAX_ADDRESS
from flask_paycheckout.sandbox.disbursements.tables import COMPLETED, FAILED, MAX_NOTE, MAX_REFERENCE, PENDING
from flask_paycheckout.sandbox.levers.accounts import AccountNameError, check_name, check_webhook_url
from flask_paycheckout.sandbox.payments.schemas import NewPayment
from flask_paycheckout.sandbox.recipients.schemas import NewRecipient
from flask_paycheckout.sandbox.wire.email_addresses import EmailAddress
from flask_paycheckout.sandbox.wire.field_types import Amount, Boolean, Choice, FreeText, NestedList, Note, Number, Text
from flask_paycheckout.sandbox.wire.parsing import FieldError

MAX_SWITCHES = 200
SENT_AT_THE_START = "waiting"
STATES = ("open", "picked", "paid", "underpaid", "overpaid", "paid-late", "failed", "expired", "abandoned")
_AGE = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_OLDEST = timedelta(days=3660)
_ID = re.compile(r"[0-9a-f]{24}")
_CREDENTIAL = re.compile(r"[!-~]{1,80}")


class Age(Text):
    """How long before the start something was made, such as `90m` or `2d`."""

    def read(self, name: str, value: Any) -> Any:
        found = _AGE.fullmatch(value) if isinstance(value, str) else None
        age = None if found is None else timedelta(**{_UNITS[found[2]]: int(found[1])})
        if age is None or age > _OLDEST:
            raise FieldError(f"{name} must be a text like 90s, 15m, 2h or 3d, of at most ten years.")
        return age


class Identifier(Text):
    """An id of the service."""

    def read(self, name: str, value: Any) -> str | None:
        if not (isinstance(value, str) and _ID.fullmatch(value)):
            raise FieldError(f"{name} must be 24 hexadecimal digits in lower case.")
        return value


class Credential(Text):
    """What is sent in headers, and pasted into shells and settings."""

    def read(self, name: str, value: Any) -> str | None:
        if not (isinstance(value, str) and _CREDENTIAL.fullmatch(value)):
            raise FieldError(f"{name} must be 1 to 80 visible characters of ASCII.")
        return value


class AccountName(Text):
    """A name that an account can have."""

    def read(self, name: str, value: Any) -> str | None:
        try:
            return check_name(value if isinstance(value, str) else "")
        except AccountNameError as wrong:
            raise FieldError(f"{name} {wrong}.") from None


class WebhookUrl(Text):
    """An address that webhooks may be sent to."""

    def read(self, name: str, value: Any) -> str | None:
        if not isinstance(value, str):
            raise FieldError(f"{name} must be a text.")
        return check_webhook_url(name, value)


@dataclass(frozen=True, kw_only=True)
class MethodSwitchEntry:
    """Whether an account may use a payment method."""

    code: Annotated[str, Text()]
    enabled: Annotated[bool, Boolean()]


@dataclass(frozen=True, kw_only=True)
class ConversionSwitchEntry:
    """Whether an account may convert between two currencies."""

    input_currency: Annotated[str, Text()]
    output_currency: Annotated[str, Text()]
    enabled: Annotated[bool, Boolean()]


@dataclass(frozen=True, kw_only=True, repr=False)
class AccountEntry:
    """One of `[[accounts]]`. It has no repr, because it holds secrets."""

    name: Annotated[str, AccountName()]
    client_id: Annotated[str | None, Credential()] = None
    client_secret: Annotated[str | None, Credential()] = None
    access_token: Annotated[str | None, Credential()] = None
    email: Annotated[str | None, EmailAddress()] = None
    password: Annotated[str | None, Text()] = None
    webhook_url: Annotated[str | None, WebhookUrl()] = None
    checkout_enabled: Annotated[bool | None, Boolean()] = None
    payment_methods: Annotated[list[MethodSwitchEntry] | None, NestedList(MethodSwitchEntry, MAX_SWITCHES)] = None
    conversions: Annotated[list[ConversionSwitchEntry] | None, NestedList(ConversionSwitchEntry, MAX_SWITCHES)] = None


@dataclass(frozen=True, kw_only=True)
class MethodEntry:
    """One of `[[paymentMethods]]`: changes to a payment method, or a new one."""

    code: Annotated[str, Text(40)]
    name: Annotated[str | None, FreeText(80)] = None
    group: Annotated[str | None, Choice((BANK_TRANSFER, QR, CRYPTO))] = None
    currency: Annotated[str | None, Text(40)] = None
    flat_fee_amount: Annotated[Decimal | None, Number()] = None
    percent_fee_amount: Annotated[Decimal | None, Number()] = None
    min_amount: Annotated[Decimal | None, Amount()] = None
    max_amount: Annotated[Decimal | None, Amount()] = None
    token: Annotated[str | None, Text(40)] = None
    token_rate: Annotated[Decimal | None, Amount()] = None
    enabled: Annotated[bool | None, Boolean()] = None


@dataclass(frozen=True, kw_only=True)
class ConversionEntry:
    """One of `[[conversions]]`: changes to a conversion, or a new one."""

    input_currency: Annotated[str, Text(40)]
    output_currency: Annotated[str, Text(40)]
    rate: Annotated[Decimal | None, Amount()] = None
    enabled: Annotated[bool | None, Boolean()] = None


@dataclass(frozen=True, kw_only=True)
class _Of:
    """What entries about an account have in common."""

    account: Annotated[str, AccountName()] = ACCOUNT_NAME
    age: Annotated[timedelta | None, Age()] = None


@dataclass(frozen=True, kw_only=True)
class RecipientEntry(_Of, NewRecipient):
    """One of `[[recipients]]`."""

    id: Annotated[str | None, Identifier()] = None


@dataclass(frozen=True, kw_only=True)
class CheckoutEntry(_Of, NewCheckout):
    """One of `[[checkouts]]`."""

    id: Annotated[str | None, Identifier()] = None
    state: Annotated[str, Choice(STATES)] = "open"
    payment_method: Annotated[str | None, Text(40)] = None
    paid_amount: Annotated[Decimal | None, Amount()] = None
    reference: Annotated[str | None, Text()] = None
    webhook: Annotated[str | None, Choice((SENT_AT_THE_START,))] = None


@dataclass(frozen=True, kw_only=True)
class PayoutEntry(_Of):
    """One of `[[payouts]]`: to a saved recipient, or in a token to a wallet."""

    amount: Annotated[Decimal, Amount()]
    recipient: Annotated[str | None, FreeText()] = None
    token: Annotated[str | None, Text(40)] = None
    wallet_address: Annotated[str | None, Text(MAX_ADDRESS)] = None
    reference: Annotated[str | None, Text(MAX_REFERENCE)] = None
    note: Annotated[str | None, Note(MAX_NOTE)] = None
    state: Annotated[str, Choice((PENDING, COMPLETED, FAILED))] = PENDING
    webhook: Annotated[str | None, Choice((SENT_AT_THE_START,))] = None


@dataclass(frozen=True, kw_only=True)
class PaymentEntry(_Of, NewPayment):
    """One of `[[payments]]`; its age decides how far it has come, since payments progress by themselves."""
