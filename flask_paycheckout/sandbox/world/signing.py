"""The formulas of X-Signature and the forms of X-Timestamp, for the service and for the command that signs a call."""

from __future__ import annotations

import hmac
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256


def string_to_sign(method: str, target: str, timestamp: str, body: bytes, formula: str = "request") -> str:
    """What a formula signs, named as the values of the unknown `signature_formula`."""
    if formula == "timestamp_and_body":
        return f"{timestamp}.{body.decode(errors='surrogateescape')}"
    return "\n".join((method, target, timestamp, sha256(body).hexdigest()))


def sign(secret: str, text: str, formula: str = "request") -> str:
    digest = hmac.new(secret.encode(), text.encode(errors="surrogateescape"), sha256)
    if formula == "request_base64":
        return b64encode(digest.digest()).decode()
    return digest.hexdigest()


def timestamp_of(seconds: float, unit: str) -> str:
    """A time as the unknown `timestamp_unit` writes it."""
    if unit == "iso8601":
        return datetime.fromtimestamp(int(seconds), UTC).isoformat()
    return str(int(seconds) * (1000 if unit == "milliseconds" else 1))
