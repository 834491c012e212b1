"""Explains why a signature was not accepted."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.context import assumption, world

_LINES = 4
_NOTHING = sha256(b"").hexdigest()
_TIMESTAMP_DIGITS = 12


@dataclass(frozen=True)
class Rejection:
    """A refused signature: the string that the sandbox signed, and what is known about its parts."""

    signed_string: str
    client_id: str | None
    client_is_known: bool
    target: str
    timestamp: str
    seconds_off: int | None
    """How far the timestamp was from the clock; None when it was no number."""
    window: str
    body_was_empty: bool

    @property
    def is_late(self) -> bool:
        return self.seconds_off is None or (self.window != "off" and self.seconds_off > int(self.window))


def explain(session: Session, entry: LoggedRequest) -> Rejection | None:
    """Explain a refused signature; None when the signature was accepted or not required."""
    lines = (entry.signed_string or "").split("\n")
    if entry.signed_string is None or len(lines) != _LINES:
        return None
    _, target, timestamp, digest = lines
    return Rejection(
        signed_string=entry.signed_string,
        client_id=entry.client_id,
        client_is_known=bool(session.scalar(select(exists().where(Account.client_id == (entry.client_id or ""))))),
        target=target,
        timestamp=timestamp,
        seconds_off=_seconds_off(entry, timestamp),
        window=assumption("timestamp_window"),
        body_was_empty=digest == _NOTHING,
    )


def _seconds_off(entry: LoggedRequest, timestamp: str) -> int | None:
    """Difference from the virtual clock or the machine's, whichever is nearer: the sandbox accepts both."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= _TIMESTAMP_DIGITS):
        return None
    arrived = int(entry.at.timestamp())
    clocks = (arrived, arrived - int(world().clock.offset.total_seconds()))
    return min(abs(int(timestamp) - clock) for clock in clocks)
