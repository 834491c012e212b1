"""Destinations of payouts: a bank account, a recipient of the service, a wallet, or a person's hands.

And the form in which a customer says where a refund shall go: its fields, and what is wrong with them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from flask_paycheckout.payouts.account_numbers import (
    MAX_ACCOUNT_NUMBER,
    bank_in_iban,
    begins_like_iban,
    iban_of,
    is_account_number,
    last_digits,
    pasted,
)
from flask_paycheckout.payouts.wallets import require_address, shows_errors
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import REFUSED, drawn, visible
from flask_paycheckout.totals import is_token

MAX_TEXT = 255
"""The most characters of a text of a destination."""

ACCOUNT_NUMBER = "account_number"
"""The field that is never shown again, and must be typed again."""

_BANK_FIELDS = ("account_name", ACCOUNT_NUMBER, "bank_name", "country", "email", "address", "city", "post_code")
_WALLET_FIELDS = ("wallet_address",)

MAX_SHOWN = 70
"""The most characters of what an approver compares; names in bank transfers have no more."""

_SHOWN = frozenset({"account_name", "bank_name"})
# With these a name could look like the digits of an account.
_BULLETS = frozenset("•‣⁃⁌⁍∙◘◦●⚫⦁⦾⦿")

Facts = dict[str, str]
"""What people are shown of a destination: values that strangers wrote, never joined, each under a label of ours."""


@dataclass(frozen=True, slots=True)
class ToBank:
    """A bank account, named in the payout itself.

    :param bank_code: of `client.fiat_disbursements.payment_methods(currency)`.
    :param name: of the person or business who is paid.
    :raises TypeError: a value is not a string.
    :raises ValueError: a value is empty, too long, or has another form.
    """

    account_name: str
    account_number: str = field(repr=False)
    bank_code: str
    bank_name: str
    name: str | None = field(default=None, kw_only=True)
    email: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        # Hidden before anything can fail, so that no traceback with local variables shows it.
        object.__setattr__(self, "account_number", pasted(str(self.account_number)))
        for name in ("account_name", "bank_code", "bank_name"):
            _set_text(self, name)
        for name in ("name", "email"):
            if getattr(self, name) is not None:
                _set_text(self, name)
        if self.email is not None and not is_email(self.email):
            raise ValueError("email is no e-mail address; write it like ada@example.com, or leave it out")
        if not is_account_number(self.account_number):
            raise ValueError(
                f"account_number must be a text of 1 to {MAX_ACCOUNT_NUMBER} letters and digits, which spaces, dots,"
                " slashes and hyphens may separate; copy it from the bank's statement"
            )

    @property
    def masked(self) -> str:
        """The account without its number, for people."""
        return masked_account(self.account_name, self.bank_name, self.account_number)


@dataclass(frozen=True, slots=True)
class ToRecipient:
    """A recipient whom the service keeps.

    :param recipient_id: the id that `client.recipients.create(...)` returned.
    """

    recipient_id: str

    def __post_init__(self) -> None:
        _set_text(self, "recipient_id")

    @property
    def masked(self) -> str:
        """The recipient's id, for people."""
        return facts_text({"Recipient": self.recipient_id})


@dataclass(frozen=True, slots=True)
class ToWallet:
    """A wallet, which is paid in a token.

    :param address: the wallet's address on the token's network.
    """

    address: str

    def __post_init__(self) -> None:
        _set_text(self, "address")
        if " " in self.address:
            raise ValueError("address must not contain spaces; copy it again from the wallet")

    @property
    def masked(self) -> str:
        """The wallet's address, for people."""
        return facts_text({"Wallet": self.address})


@dataclass(frozen=True, slots=True)
class ByHand:
    """The money was given back outside of the service; for refunds, which are completed at once."""

    @property
    def masked(self) -> str:
        """The way it went, for people."""
        return facts_text({"Given back": "by hand"})


Destination = ToBank | ToRecipient | ToWallet

_KINDS: dict[str, type[Any]] = {"bank": ToBank, "recipient": ToRecipient, "wallet": ToWallet, "hand": ByHand}
_KIND_OF = {made: kind for kind, made in _KINDS.items()}


def require_destination(to: object, currency: str) -> Destination:
    """Return a destination that can be paid in this currency, unchanged.

    :raises TypeError: it is none of the three classes.
    :raises ValueError: a wallet for a bank's currency, a bank for a token, or an address that is none of its network.
    """
    if not isinstance(to, (ToBank, ToRecipient, ToWallet)):
        raise TypeError(f"to must be ToBank, ToRecipient or ToWallet, not {type(to).__name__}")
    token = is_token(currency)
    if isinstance(to, ToWallet):
        if not token:
            raise ValueError(
                f"to is a wallet, but {currency} is paid to bank accounts. Give a token as the currency, such as"
                " 'usdc-polygon', or a ToBank or ToRecipient"
            )
        require_address(to.address, currency)
    elif token:
        raise ValueError(f"to is a bank account, but {currency} is a token, which only a wallet takes. Give a ToWallet")
    return to


def kind_of(to: Destination | ByHand) -> str:
    """The kind of a destination: `bank`, `recipient`, `wallet` or `hand`."""
    return _KIND_OF[type(to)]


def details_of(to: Destination) -> str:
    """The content of a destination as JSON, from which `destination_of` makes it again."""
    return msgspec.json.encode(to, enc_hook=str).decode()


def destination_of(kind: str, details: str) -> Destination:
    """The destination that `details_of` gave these details of.

    :param kind: `bank`, `recipient` or `wallet`.
    :raises KeyError: there is no such kind.
    :raises msgspec.DecodeError: these are not its details.
    """
    made: Destination = msgspec.json.decode(details, type=_KINDS[kind])
    return made


def masked_account(account_name: str, bank_name: str, account_number: str) -> str:
    """A bank account without its number, for people: the bank in an IBAN stands beside the one that was typed."""
    iban = iban_of(account_number)
    return facts_text(
        {
            "Name": account_name,
            "Bank": bank_name,
            **({"IBAN": bank_in_iban(iban)} if iban else {}),
            "Number ends with": last_digits(account_number) or "…",
        }
    )


def facts_text(facts: Facts) -> str:
    """Facts as they are stored, each in a line of its own; a value with control characters cannot forge one."""
    return "\n".join(map(": ".join, zip(facts, [visible(value) for value in facts.values()], strict=True)))


ERASED = "Erased: on request"
"""The destination of a payout whose person was erased."""


def shown(text: str | None) -> str | None:
    """A stored destination on its way to people, one of whom is recorded as its viewer; None while it is not known."""
    return None if text is None else personal(text)


def facts_in(text: str | None) -> Facts:
    """The facts of a stored destination on their way to people, like `shown`."""
    return {label: value for label, _, value in (line.partition(": ") for line in (shown(text) or "").splitlines())}


def hides_errors(text: str | None, currency: str) -> bool:
    """Whether a stored destination is a wallet in whose address nobody would notice a wrong character."""
    address = facts_in(text).get("Wallet")
    return address is not None and not shows_errors(address, currency)


def is_email(text: str) -> bool:
    """Whether a text has the form of an e-mail address."""
    local, at, domain = text.partition("@")
    return bool(local and at and domain) and "@" not in domain and text.split() == [text]


def is_one_line(text: str) -> bool:
    """Whether a text has neither line breaks nor control characters, nor anything that cannot be encoded."""
    return text.isprintable() or REFUSED.isdisjoint(map(unicodedata.category, text))


def _set_text(to: object, name: str) -> None:
    """Replace a text by itself without spaces at its ends.

    :raises TypeError: it is not a string.
    :raises ValueError: it is empty, too long, or contains control characters.
    """
    value = getattr(to, name)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    text = drawn(value)
    if not text or len(text) > MAX_TEXT or not is_one_line(text):
        raise ValueError(f"{name} must have 1 to {MAX_TEXT} characters, in one line without control characters")
    object.__setattr__(to, name, text)


# The form of a customer


class Fault(StrEnum):
    """The fault of a field."""

    MISSING = "missing"
    TOO_LONG = "too long"
    SEVERAL_LINES = "line breaks or control characters"
    BULLET = "a bullet"
    NO_EMAIL = "no e-mail address"
    NO_ACCOUNT_NUMBER = "no account number"
    NO_IBAN = "check digits of an IBAN that do not fit"
    NO_WALLET = "no address of a wallet"


@dataclass(frozen=True)
class RefundForm:
    """The form as a customer filled it in, without characters that nobody sees."""

    values: Mapping[str, str] = field(repr=False)
    """All fields of the form."""

    faults: Mapping[str, Fault]
    """The fault of each field that has one; empty when everything can be used."""

    @property
    def wallet(self) -> ToWallet | None:
        """The wallet; None where a bank account was asked for."""
        address = self.values.get("wallet_address")
        return None if address is None else ToWallet(address)

    @property
    def masked(self) -> str:
        """The destination for people, without an account number."""
        if self.wallet is not None:
            return self.wallet.masked
        return masked_account(self.values["account_name"], self.values["bank_name"], self.values[ACCOUNT_NUMBER])


def fields_of(currency: str) -> tuple[str, ...]:
    """The fields that are asked for, in their order on the page: a wallet for a token, else a bank account."""
    return _WALLET_FIELDS if is_token(currency) else _BANK_FIELDS


def max_length(name: str) -> int:
    """The most characters of a field that is no account number."""
    return MAX_SHOWN if name in _SHOWN else MAX_TEXT


def read_form(currency: str, typed: Mapping[str, str]) -> RefundForm:
    """Check what was typed into the fields of this currency; other fields are ignored.

    :param typed: the text of each field; a missing one counts as empty.
    """
    cleaned = {name: pasted if name == ACCOUNT_NUMBER else drawn for name in fields_of(currency)}
    values = {name: clean(typed.get(name, "")) for name, clean in cleaned.items()}
    faults = {name: fault for name, value in values.items() if (fault := _fault(name, value, currency))}
    return RefundForm(values, faults)


def _fault(name: str, value: str, currency: str) -> Fault | None:
    if not value:
        return Fault.MISSING
    if not is_one_line(value):
        return Fault.SEVERAL_LINES
    if name == ACCOUNT_NUMBER:
        if begins_like_iban(value) and iban_of(value) is None:
            return Fault.NO_IBAN
        return None if is_account_number(value) else Fault.NO_ACCOUNT_NUMBER
    if len(value) > max_length(name):
        return Fault.TOO_LONG
    if name in _SHOWN and not _BULLETS.isdisjoint(value):
        return Fault.BULLET
    if name == "email" and not is_email(value):
        return Fault.NO_EMAIL
    if name == "wallet_address":
        try:
            require_destination(ToWallet(value), currency)
        except ValueError:
            return Fault.NO_WALLET
    return None
