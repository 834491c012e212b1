"""Start options of sandboxes with which a journey covers every value of every switch."""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import zip_longest

from flask_paycheckout.client import HmacSigner, Signer
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS

CLIENT_ID = "sandbox-client"
CLIENT_SECRET = "sandbox-secret-0123456789abcdef"


def settings(alone: Collection[str]) -> dict[str, dict[str, str]]:
    """The switches of each start, by name: each value of the switches in `alone` by itself, and all others together.

    :param alone: switches that could hide effects of others from the journey.
    """
    others = [
        [(unknown.name, value) for value in unknown.alternatives]
        for unknown in ASSUMPTIONS
        if unknown.name not in alone
    ]
    together = {
        f"others, {number}": dict(pair for pair in turned if pair is not None)
        for number, turned in enumerate(zip_longest(*others), start=1)
    }
    return together | {
        f"{unknown.name}={value}": {unknown.name: value}
        for unknown in ASSUMPTIONS
        if unknown.name in alone
        for value in unknown.alternatives
    }


@dataclass(frozen=True)
class OtherSigner:
    """Signs by the formula and in the unit of time that a sandbox's switches name."""

    formula: str
    unit: str

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        stamp = self._written(timestamp)
        text = f"{method}\n{target}\n{stamp}\n{sha256(body).hexdigest()}".encode()
        if self.formula == "timestamp_and_body":
            text = f"{stamp}.".encode() + body
        signed = hmac.new(CLIENT_SECRET.encode(), text, sha256)
        signature = b64encode(signed.digest()).decode() if self.formula == "request_base64" else signed.hexdigest()
        return {"X-Client-ID": CLIENT_ID, "X-Timestamp": stamp, "X-Signature": signature}

    def _written(self, timestamp: int) -> str:
        if self.unit == "iso8601":
            return datetime.fromtimestamp(timestamp, UTC).isoformat()
        return f"{timestamp}000" if self.unit == "milliseconds" else str(timestamp)


def signer_of(unknowns: Mapping[str, str]) -> Signer:
    """The signer that a shop or a client needs with these switches."""
    formula, unit = unknowns.get("signature_formula", "request"), unknowns.get("timestamp_unit", "seconds")
    return (
        HmacSigner(CLIENT_ID, CLIENT_SECRET)
        if (formula, unit) == ("request", "seconds")
        else OtherSigner(formula, unit)
    )
