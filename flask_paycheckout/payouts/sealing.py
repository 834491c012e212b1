"""Destinations of payouts as they are stored: account numbers sealed, and a keyed fingerprint to compare contents by.

With PAYCHECKOUT_SEAL_KEY, a Fernet key of `cryptography`, an account number is encrypted in the payout's row. The
fingerprint is made with the app's secret key, so that nobody can find the number by trying all of them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from itsdangerous import Signer

from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.payouts.destinations import Destination, ToBank, destination_of, details_of, kind_of

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

_SEALED = "sealed:"
_PURPOSE = b"paycheckout.destination"


class Unreadable(Exception):
    """Stored details of a destination cannot be read; the message says why, and how to mend it."""


@dataclass(frozen=True, eq=False)
class Sealing:
    """Writes and reads the details of destinations for one app.

    :param seal_keys: Fernet keys, of which the first seals and each opens; without any, details are stored as they are.
    :param keys: returns the app's secret keys, the current one last.
    """

    seal_keys: Sequence[str] = field(repr=False)
    keys: Callable[[], Sequence[bytes]]

    def seal(self, to: Destination) -> Hidden:
        """The details of a destination for its column; sealed when they contain an account number and a key is set."""
        details = details_of(to)
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
            return destination_of(kind, details)
        except (msgspec.DecodeError, KeyError) as error:
            fault = type(error).__name__
        # Outside of the handler: the error may quote the details.
        raise Unreadable(f"its stored destination cannot be read ({fault})")

    def _unsealed(self, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            return self._sealer.decrypt(sealed.encode()).decode()
        except (InvalidToken, ValueError):
            # Also without any key.
            raise Unreadable(
                "its account number is sealed with a key that PAYCHECKOUT_SEAL_KEY does not list; add that key to the"
                " end of the list"
            ) from None

    def fingerprint(self, to: Destination) -> str:
        """A keyed fingerprint of a destination, by which contents can be compared after the details are gone."""
        return _fingerprint(self.keys()[-1], to)

    def is_fingerprint_of(self, stored: str, to: Destination) -> bool | None:
        """Whether a stored fingerprint is this destination's; None when it was made with a key that is gone."""
        candidates = (_fingerprint(key, to) for key in self.keys() if key)
        known = [one for one in candidates if one.partition(":")[0] == stored.partition(":")[0]]
        return any(hmac.compare_digest(stored, one) for one in known) if known else None

    @cached_property
    def _sealer(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        return MultiFernet([Fernet(key) for key in self.seal_keys])


def _fingerprint(key: bytes, to: Destination) -> str:
    """The fingerprint, after a mark of the key that it was made with."""
    signer = Signer(key, salt=_PURPOSE, key_derivation="hmac", digest_method=hashlib.sha256)
    mark = hashlib.sha256(signer.derive_key()).hexdigest()[:8]
    signature = signer.get_signature(f"{kind_of(to)}\n{details_of(to)}")
    return f"{mark}:{signature.decode()}"
