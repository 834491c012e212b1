"""Destinations of payouts: a bank account, a recipient of the service, or a wallet; and refunds given back by hand.

With PAYCHECKOUT_SEAL_KEY, a Fernet key of `cryptography`, an account number is encrypted in the payout's row. A
fingerprint is stored with it, to compare destinations later. The fingerprint is keyed with the app's secret key, so
that nobody can find the account number by trying all numbers.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from itsdangerous import Signer

from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.payouts.account_numbers import (
    MAX_ACCOUNT_NUMBER,
    bank_in_iban,
    iban_of,
    is_account_number,
    last_digits,
    pasted,
)
from flask_paycheckout.payouts.wallets import require_address, shows_errors
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import REFUSED, drawn, visible
from flask_paycheckout.totals import is_token

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

MAX_TEXT = 255
"""The maximum length of a text in a destination."""

_SEALED = "sealed:"
_FINGERPRINT = b"paycheckout.destination"

Facts = dict[str, str]
"""The facts of a destination for people: values that strangers wrote, each under a label of ours, and never joined."""


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
        # No traceback with local variables shows the number: one of a wrong type is in no variable, others are hidden.
        if not isinstance(self.account_number, str):
            raise TypeError(f"account_number must be a string, not {type(self.account_number).__name__}")
        object.__setattr__(self, "account_number", pasted(self.account_number))
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
        """The destination, for people."""
        return facts_text({"Given back": "by hand"})


Destination = ToBank | ToRecipient | ToWallet

_KINDS: dict[str, type[Any]] = {"bank": ToBank, "recipient": ToRecipient, "wallet": ToWallet, "hand": ByHand}
_KIND_OF = {cls: kind for kind, cls in _KINDS.items()}


def require_destination(to: object, currency: str) -> Destination:
    """Return a destination that can be paid in this currency, unchanged.

    :raises TypeError: it is none of the three classes.
    :raises ValueError: a wallet for a bank's currency, a bank for a token, or an address of another network.
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


def masked_account(account_name: str, bank_name: str, account_number: str) -> str:
    """A bank account without its number, for people, with the bank as typed and the bank that its IBAN names."""
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
    """Facts as they are stored, one per line; control characters are escaped, so that no value can forge a line."""
    return "\n".join(map(": ".join, zip(facts, [visible(value) for value in facts.values()], strict=True)))


ERASED = "Erased: on request"
"""The destination of a payout whose person was erased."""


def shown(text: str | None) -> str | None:
    """A stored destination to show to a person, who is recorded as its viewer; None while it is not known."""
    return None if text is None else personal(text)


def facts_in(text: str | None) -> Facts:
    """The facts of a stored destination to show to a person; the viewer is recorded as by `shown`."""
    return {label: value for label, _, value in (line.partition(": ") for line in (shown(text) or "").splitlines())}


def hides_errors(text: str | None, currency: str) -> bool:
    """Whether a stored destination is a wallet address without a checksum, which would reveal a wrong character."""
    address = facts_in(text).get("Wallet")
    return address is not None and not shows_errors(address, currency)


def is_email(text: str) -> bool:
    """Whether a text has the form of an e-mail address."""
    local, at, domain = text.partition("@")
    return bool(local and at and domain) and "@" not in domain and text.split() == [text]


def is_one_line(text: str) -> bool:
    """Whether a text has no line breaks, no control characters, and no characters that cannot be encoded."""
    return text.isprintable() or REFUSED.isdisjoint(map(unicodedata.category, text))


def _set_text(to: object, name: str) -> None:
    """Remove invisible characters and repeated spaces from a text of a destination.

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


# The stored form


class Unreadable(Exception):
    """Stored details of a destination cannot be read; the message gives the reason and the remedy."""


@dataclass(frozen=True, eq=False)
class Sealing:
    """Writes and reads the details of destinations for one app.

    :param seal_keys: Fernet keys: the first one seals, and each one opens. Without keys, details are stored unsealed.
    :param keys: returns the app's secret keys, the current one last.
    """

    seal_keys: Sequence[str] = field(repr=False)
    keys: Callable[[], Sequence[bytes]]

    def seal(self, to: Destination) -> Hidden:
        """The details of a destination for its column; sealed if they contain an account number and a key is set."""
        details = _details_of(to)
        if not self.seal_keys or not isinstance(to, ToBank):
            return Hidden(details)
        return Hidden(_SEALED + self._sealer.encrypt(details.encode()).decode())

    def open(self, kind: str | None, details: str | None) -> Destination:
        """The destination that was stored with these details.

        :raises Unreadable: they are missing or damaged, or sealed with a key that is not set any more.
        """
        if kind is None or details is None:
            raise Unreadable("its destination is not known; cancel it, and ask the customer again with a new refund")
        if details.startswith(_SEALED):
            details = self._unsealed(details.removeprefix(_SEALED))
        try:
            destination: Destination = msgspec.json.decode(details, type=_KINDS[kind])
            return destination
        except (msgspec.DecodeError, KeyError) as error:
            fault = type(error).__name__
        # Raise outside of the handler, because the original error may quote the details.
        raise Unreadable(f"its stored destination cannot be read ({fault})")

    def _unsealed(self, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            return self._sealer.decrypt(sealed.encode()).decode()
        except (InvalidToken, ValueError):
            # This is also raised when no key is set.
            raise Unreadable(
                "its account number is sealed with a key that PAYCHECKOUT_SEAL_KEY does not list; add that key to the"
                " end of the list"
            ) from None

    def fingerprint(self, to: Destination) -> str:
        """A keyed fingerprint of a destination, to compare destinations after the details are gone."""
        return _fingerprint(self.keys()[-1], to)

    def is_fingerprint_of(self, stored: str, to: Destination) -> bool | None:
        """Whether a stored fingerprint is this destination's; None when it was made with a key that is gone."""
        candidates = (_fingerprint(key, to) for key in self.keys() if key)
        same_key = [each for each in candidates if each.partition(":")[0] == stored.partition(":")[0]]
        return any(hmac.compare_digest(stored, each) for each in same_key) if same_key else None

    @cached_property
    def _sealer(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        return MultiFernet([Fernet(key) for key in self.seal_keys])


def _details_of(to: Destination) -> str:
    return msgspec.json.encode(to, enc_hook=str).decode()


def _fingerprint(key: bytes, to: Destination) -> str:
    """The fingerprint, prefixed with a mark of its key."""
    signer = Signer(key, salt=_FINGERPRINT, key_derivation="hmac", digest_method=hashlib.sha256)
    mark = hashlib.sha256(signer.derive_key()).hexdigest()[:8]
    signature = signer.get_signature(f"{kind_of(to)}\n{_details_of(to)}")
    return f"{mark}:{signature.decode()}"
