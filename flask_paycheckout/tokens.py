"""Signed tokens that stand for an order in a URL: one salt per purpose, an age limit, rotating keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cached_property

from itsdangerous import BadSignature, SignatureExpired, Signer, TimestampSigner, URLSafeTimedSerializer, want_bytes

from flask_paycheckout.clock import Clock
from flask_paycheckout.errors import ConfigurationError

__all__ = ["PAY", "RESOLVE", "STATUS", "Tokens"]

PAY = "paycheckout.pay"
STATUS = "paycheckout.status"
RESOLVE = "paycheckout.resolve"

# Two web servers never agree on the second; a token from this far in the future is still taken.
_CLOCK_SKEW = timedelta(seconds=30)

_SIGNER_ARGUMENTS = {"key_derivation": "hmac", "digest_method": hashlib.sha256}


class _KeptKeys(TimestampSigner):
    """Derives each key once, not for every token."""

    @cached_property
    def _derived(self) -> dict[bytes, bytes]:
        return {}

    def derive_key(self, secret_key: str | bytes | None = None) -> bytes:
        key = self.secret_keys[-1] if secret_key is None else want_bytes(secret_key)
        if key not in self._derived:
            self._derived[key] = super().derive_key(key)
        return self._derived[key]


class _KeptSigner(URLSafeTimedSerializer):
    """Makes its signer once; it only ever signs for its own salt."""

    @cached_property
    def _kept(self) -> Signer:
        return super().make_signer()

    def make_signer(self, salt: str | bytes | None = None) -> Signer:
        return self._kept


class Tokens:
    """Signs and reads order tokens of one app.

    :param keys: gives the signing keys, oldest first, the current one last (Flask's `SECRET_KEY_FALLBACKS`, then
        `SECRET_KEY`); asked anew each time, so that a rotated key counts at once.
    :param max_age: how long a token is good for.
    """

    def __init__(self, keys: Callable[[], Sequence[bytes]], clock: Clock, max_age: timedelta) -> None:
        class ClockedSigner(_KeptKeys):
            def get_timestamp(self) -> int:
                return int(clock().timestamp())

        self._signer = ClockedSigner
        self._keys = keys
        self._clock = clock
        self._max_age = max_age
        #: For each purpose the keys that its serializer was made for; two threads may both make it, which does no harm.
        self._serializers: dict[str, tuple[list[bytes], URLSafeTimedSerializer]] = {}

    def sign(self, purpose: str, order_id: str) -> str:
        """A token for this order and purpose, safe inside a URL path.

        :raises TypeError: the order id is not a string; its token would be one that no page accepts.
        """
        if not isinstance(order_id, str):
            raise TypeError(f"order_id must be a string, not {type(order_id).__name__}; write str(order.id)")
        return str(self._serializer(purpose).dumps(order_id))

    def read(self, purpose: str, token: str) -> str | None:
        """The order id in the token; None when it is forged, too old, or made for another purpose."""
        try:
            order_id, signed_at = self._serializer(purpose).loads(token, return_timestamp=True)
        except (BadSignature, SignatureExpired, UnicodeError):
            return None
        age = self._clock() - signed_at
        if not isinstance(order_id, str) or not -_CLOCK_SKEW <= age <= self._max_age:
            return None
        return order_id

    def _serializer(self, purpose: str) -> URLSafeTimedSerializer:
        # Everybody knows the empty key, and an unset variable in SECRET_KEY_FALLBACKS often is one.
        keys = [key for key in self._keys() if key]
        if not keys:
            raise ConfigurationError("SECRET_KEY is empty; the links to pay are signed with it. Set it again.")
        made_for, serializer = self._serializers.get(purpose, (None, None))
        if serializer is None or made_for != keys:
            serializer = _KeptSigner(keys, salt=purpose, signer=self._signer, signer_kwargs=_SIGNER_ARGUMENTS)
            self._serializers[purpose] = keys, serializer
        return serializer
