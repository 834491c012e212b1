"""Destinations of payouts: a bank account, a recipient of the service, a wallet, or a person's hands. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

import msgspec

from flask_paycheckout.client.hidden import AccountNumber
from flask_paycheckout.text import trimmed
from flask_paycheckout.totals import is_token

MAX_TEXT = 255
"""The most characters of a text of a destination."""

_MAX_ACCOUNT_NUMBER = 64
_ACCOUNT_NUMBER = re.compile(r"[0-9A-Za-z][0-9A-Za-z ./-]*")
_LIKE_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}")
# The digits of an account number that its masked form shows; a short number shows fewer.
_SHOWN_DIGITS = 4

# The forms of addresses by the start of a token's network. A network that is not listed is checked by the service.
_EVM = re.compile(r"0x[0-9a-fA-F]{40}")
_STELLAR = re.compile(r"[GM][A-Z2-7]{55,68}")
_EVM_NETWORKS = frozenset({"ethereum", "polygon", "bsc", "arbitrum", "optimism", "base", "avalanche", "celo"})


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
        object.__setattr__(self, "account_number", AccountNumber(self.account_number))
        for name in ("account_name", "bank_code", "bank_name"):
            _set_text(self, name)
        for name in ("name", "email"):
            if getattr(self, name) is not None:
                _set_text(self, name)
        if self.email is not None and not is_email(self.email):
            raise ValueError("email is no e-mail address; write it like ada@example.com, or leave it out")
        given = trimmed(self.account_number)
        if not is_account_number(given):
            raise ValueError(
                f"account_number must be a text of 1 to {_MAX_ACCOUNT_NUMBER} letters and digits, which spaces, dots,"
                " slashes and hyphens may separate; copy it from the bank's statement"
            )
        object.__setattr__(self, "account_number", AccountNumber(given))

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
        return f"recipient {self.recipient_id}"


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
        return f"wallet {self.address}"


@dataclass(frozen=True, slots=True)
class ByHand:
    """The money was given back outside of the service; for refunds, which are completed at once."""

    @property
    def masked(self) -> str:
        """The way it went, for people."""
        return "by hand"


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
        _require_address(to.address, currency)
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


def mask(number: str) -> str:
    """An account number of which only the last digits show, never more than a third of it."""
    whole = "".join(char for char in number if char.isalnum())
    shown = min(_SHOWN_DIGITS, len(whole) // 3)
    return "•••• " + whole[len(whole) - shown :] if shown else "••••"


def masked_account(account_name: str, bank_name: str, account_number: str) -> str:
    """A bank account without its number, for people."""
    return f"{account_name}, {bank_name}, {mask(account_number)}"


def begins_like_iban(number: str) -> bool:
    """Whether somebody meant an IBAN, right or wrong: two letters and two digits, whatever separates them."""
    return _LIKE_IBAN.match(compact(number)) is not None


def is_account_number(text: str) -> bool:
    """Whether a text has the form of an account number."""
    return len(text) <= _MAX_ACCOUNT_NUMBER and _ACCOUNT_NUMBER.fullmatch(text) is not None


def iban_of(number: str) -> AccountNumber | None:
    """The IBAN that somebody wrote, without separators; None for another number, or one that fails its check."""
    iban = compact(number)
    if _IBAN.fullmatch(iban) is None:
        return None
    # ISO 13616: letters count from 10, and the country with its check digits goes to the end.
    digits = AccountNumber("".join(str(int(char, 36)) for char in iban[4:] + iban[:4]))
    return iban if int(digits) % 97 == 1 else None


def compact(number: str) -> AccountNumber:
    """A number without separators, in capitals."""
    return AccountNumber("".join(char for char in number if char.isalnum()).upper())


def is_email(text: str) -> bool:
    """Whether a text has the form of an e-mail address."""
    local, at, domain = text.partition("@")
    return bool(local and at and domain) and "@" not in domain and not any(char.isspace() for char in text)


def is_one_line(text: str) -> bool:
    """Whether a text has neither line breaks nor control characters, nor anything that cannot be encoded."""
    return not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text)


def _set_text(to: object, name: str) -> None:
    """Replace a text by itself without spaces at its ends.

    :raises TypeError: it is not a string.
    :raises ValueError: it is empty, too long, or contains control characters.
    """
    value = getattr(to, name)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    text = trimmed(value)
    if not text or len(text) > MAX_TEXT or not is_one_line(text):
        raise ValueError(f"{name} must have 1 to {MAX_TEXT} characters, in one line without control characters")
    object.__setattr__(to, name, text)


def _require_address(address: str, token: str) -> None:
    network = token.partition("-")[2].lower()
    if network.split("-")[0] in _EVM_NETWORKS:
        form, described = _EVM, "has 0x and 40 hexadecimal digits"
    elif network.startswith("stellar"):
        form, described = _STELLAR, "begins with G or M and has 56 or 69 capital letters and digits"
    else:
        return
    if not form.fullmatch(address):
        raise ValueError(
            f"address {address[:80]!r} is no wallet of {token}: it {described} there. Copy it again from the wallet"
        )
