"""Sealed tokens that stand for an order in a URL: a key for each purpose, an age limit, rotating keys.

A token is a Fernet token of `cryptography`: encrypted and authenticated, so that nobody reads an order id from a link.
Encrypted, and not a random handle in a table: a handle would have to be written while a page is rendered, inside the
shop's own transaction, for orders that nobody ever pays.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from itsdangerous import BadSignature, URLSafeTimedSerializer

from flask_paycheckout.clock import Clock
from flask_paycheckout.errors import ConfigurationError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

__all__ = ["PAY", "RESOLVE", "STATUS", "Opened", "Tokens"]

PAY = "paycheckout.pay"
STATUS = "paycheckout.status"
RESOLVE = "paycheckout.resolve"

# Two web servers never agree on the second; a token from this far in the future is still taken.
_CLOCK_SKEW = timedelta(seconds=30)

# Fernet's decoder passes over other characters; two spellings of one token are of no use to anybody.
_LETTERS = re.compile(r"[A-Za-z0-9_-]+")

# Earlier versions signed their tokens, in parts with dots between them. Those in e-mails stay good until they expire.
_SIGNED = {"key_derivation": "hmac", "digest_method": hashlib.sha256}


class Opened(NamedTuple):
    """What a good token holds."""

    subject: str
    signed_at: datetime
    """When the first link was made; one that is made in its place keeps this age."""


class Tokens:
    """Seals and opens the tokens of one app.

    :param keys: gives the secret keys, oldest first, the current one last (Flask's `SECRET_KEY_FALLBACKS`, then
        `SECRET_KEY`); asked anew each time, so that a rotated key counts at once.
    :param max_age: how long a token is good for.
    """

    def __init__(self, keys: Callable[[], Sequence[bytes]], clock: Clock, max_age: timedelta) -> None:
        self._keys = keys
        self._clock = clock
        self._max_age = max_age
        # For each purpose the keys that it was last used with, and what seals with them, the current one first; two
        # threads may both make it, which does no harm.
        self._sealers: dict[str, tuple[list[bytes], list[Fernet]]] = {}

    def sign(self, purpose: str, subject: str, signed_at: datetime | None = None) -> str:
        """A token for this subject and purpose, safe inside a URL path.

        :param subject: what the token stands for, such as an order id.
        :param signed_at: the age of the link that this one takes the place of; None: it begins now.
        """
        at = int((signed_at or self._clock()).timestamp())
        sealed = self._of(purpose)[0].encrypt_at_time(subject.encode(), at)
        return sealed.decode().rstrip("=")

    def read(self, purpose: str, token: str) -> str | None:
        """The subject in the token; None when it is forged, too old, or made for another purpose."""
        opened = self.open(purpose, token)
        return None if opened is None else opened.subject

    def open(self, purpose: str, token: str) -> Opened | None:
        """The subject in the token with its age; None when it is forged, too old, or made for another purpose."""
        opened = self._open_signed(purpose, token) if "." in token else self._open_sealed(purpose, token)
        if opened is None or not -_CLOCK_SKEW <= self._clock() - opened.signed_at <= self._max_age:
            return None
        return opened

    def _open_sealed(self, purpose: str, token: str) -> Opened | None:
        from cryptography.fernet import InvalidToken

        if not _LETTERS.fullmatch(token):
            return None
        padded = token + "=" * (-len(token) % 4)
        for sealer in self._of(purpose):
            try:
                return Opened(
                    sealer.decrypt(padded).decode(), datetime.fromtimestamp(sealer.extract_timestamp(padded), UTC)
                )
            except InvalidToken:
                continue
        return None

    def _open_signed(self, purpose: str, token: str) -> Opened | None:
        serializer = URLSafeTimedSerializer(self._good_keys(), salt=purpose, signer_kwargs=_SIGNED)
        try:
            subject, signed_at = serializer.loads(token, return_timestamp=True)
        except (BadSignature, UnicodeError):
            return None
        return Opened(subject, signed_at) if isinstance(subject, str) else None

    def _of(self, purpose: str) -> list[Fernet]:
        keys = self._good_keys()
        made_for, sealers = self._sealers.get(purpose, ([], []))
        if made_for != keys:
            sealers = [_sealer(key, purpose) for key in reversed(keys)]
            self._sealers[purpose] = keys, sealers
        return sealers

    def _good_keys(self) -> list[bytes]:
        # Everybody knows the empty key, and an unset variable in SECRET_KEY_FALLBACKS often is one.
        keys = [key for key in self._keys() if key]
        if not keys:
            raise ConfigurationError("SECRET_KEY is empty; the links to pay are sealed with it. Set it again.")
        return keys


def _sealer(key: bytes, purpose: str) -> Fernet:
    """What seals and opens for one purpose, with a key of its own that is derived from a secret key."""
    # Loaded with the first link, not with the extension.
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode()).derive(key)
    return Fernet(urlsafe_b64encode(derived))
