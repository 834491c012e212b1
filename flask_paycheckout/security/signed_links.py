"""Tokens in URLs, with one key per purpose, an age limit and key rotation: customers' links and the owner's forms.

Each is a Fernet token of `cryptography`: encrypted and authenticated, so that nobody can read an order id from it. A
token needs no row in a table: a random id would have to be stored while a page is rendered, inside the shop's own
transaction, also for orders that are never paid.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from flask_paycheckout.clock import Clock
from flask_paycheckout.errors import ConfigurationError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet, MultiFernet

PAY = "paycheckout.pay"
STATUS = "paycheckout.status"
REFUND = "paycheckout.refund"
REQUEST = "paycheckout.request"
FORMS = "paycheckout_owner."
"""The prefix of the purposes of the owner's forms; the endpoint of the form follows."""

# A token from the future is accepted within this time: `doctor` accepts a clock that is a minute ahead of the
# service's, and another server's clock that is a minute behind.
_CLOCK_SKEW = timedelta(minutes=2)


class Link(NamedTuple):
    """The content of a valid token."""

    subject: str
    """The object that the token identifies, such as an order id."""

    signed_at: datetime
    """The time of the first link; a link that replaces it keeps this time, so both expire together."""


@dataclass(frozen=True, repr=False)
class SignedLinks:
    """Makes and reads the tokens of one app."""

    keys: Callable[[], Sequence[bytes]]
    """Returns the secret keys, the current one last (Flask's `SECRET_KEY_FALLBACKS`, then `SECRET_KEY`).

    Called each time, so that a rotated key takes effect at once.
    """

    clock: Clock
    max_age: timedelta
    """The time for which a token is valid."""

    def sign(self, purpose: str, subject: str, signed_at: datetime | None = None) -> str:
        """Make a token for this subject and purpose, safe inside a URL path.

        :param subject: the object that the token identifies, such as an order id.
        :param signed_at: the time of the link that this one replaces; None for a new link.
        """
        at = int((signed_at or self.clock()).timestamp())
        return self._sealer(purpose).encrypt_at_time(subject.encode(), at).decode().rstrip("=")

    def read(self, purpose: str, token: str) -> str | None:
        """The subject of a token; None if it is forged, expired, or made for another purpose."""
        opened = self.open(purpose, token)
        return opened and opened.subject

    def open(self, purpose: str, token: str) -> Link | None:
        """The subject of a token and its time; None if it is forged, expired, or made for another purpose."""
        from cryptography.fernet import InvalidToken

        sealer, padded = self._sealer(purpose), token + "=" * (-len(token) % 4)
        try:
            subject, at = sealer.decrypt(padded).decode(), sealer.extract_timestamp(padded)
        except (InvalidToken, ValueError):
            # ValueError: the token has characters outside of ASCII.
            return None
        signed_at = datetime.fromtimestamp(at, UTC)
        return Link(subject, signed_at) if -_CLOCK_SKEW <= self.clock() - signed_at <= self.max_age else None

    def _sealer(self, purpose: str) -> MultiFernet:
        from cryptography.fernet import MultiFernet

        # Skip empty keys, which anybody could use: an unset variable in SECRET_KEY_FALLBACKS often becomes one.
        keys = list(filter(None, self.keys()))
        if not keys:
            raise ConfigurationError("SECRET_KEY is empty; the links to pay are sealed with it. Set it again.")
        return MultiFernet([_fernet(key, purpose) for key in reversed(keys)])


@lru_cache(maxsize=64)
def _fernet(key: bytes, purpose: str) -> Fernet:
    """The Fernet of one purpose, with a key that is derived from the secret key."""
    # Imported with the first link, so that programs without links do not load `cryptography`.
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode()).derive(key)
    return Fernet(urlsafe_b64encode(derived))
