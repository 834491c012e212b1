"""Timelines of a checkout, a disbursement or a payment, and why a signature was refused.

A timeline has the newest events of the feed about its object, so that pages stay small.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, exists, or_, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.checkouts.endpoints import Checkout
from flask_paycheckout.sandbox.control.events import FEED
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.transitions import Activity

MAX_ENTRIES = 200
"""The most events in a timeline."""

# The order of entries with the same time: a call before its effects.
_ORDER = ("Call", "State", "Webhook", "Read")
_READS = ("GET ", "HEAD ")


def timeline_of(session: Session, made: Any, deposit: Any) -> list[dict[str, Any]]:
    """The calls, states, webhooks and reads about a checkout, a disbursement or a payment, in order of time."""
    about = _mentions(made.id)
    if deposit is not None:
        about |= LoggedRequest.target == f"/v1/deposit/{deposit.reference}"
    if getattr(made, "group_id", None):
        # The log truncates the answer to a large batch, perhaps before this item, but not before the group id.
        about |= (LoggedRequest.method == "POST") & _mentions(made.group_id)
    calls = Activity.request.in_(select(LoggedRequest.number).where(about))
    query = FEED.where(or_(Activity.about == made.id, calls)).order_by(Activity.number.desc()).limit(MAX_ENTRIES)
    entries = _of_page(made) if isinstance(made, Checkout) else []
    entries += [{**row, "kind": _kind_of(row)} for row in session.execute(query).mappings().all()[::-1]]
    return sorted(entries, key=lambda entry: (entry["at"], _ORDER.index(entry["kind"])))


def _mentions(text: str) -> ColumnElement[bool]:
    """The condition that the kept part of a logged request's target, body or answer contains a text."""
    places = (LoggedRequest.target, LoggedRequest.request_body, LoggedRequest.answer_body)
    return or_(*(place.contains(text, autoescape=True) for place in places))


def _of_page(checkout: Checkout) -> list[dict[str, Any]]:
    """The states of a checkout's page."""
    created = {"at": checkout.created_at, "kind": "State", "text": "Checkout created", "outcome": "open"}
    if checkout.picked_at is not None or checkout.page_is_open:
        return [created]
    closed = {"text": "Page closed", "outcome": "abandoned", "detail": "No payment method was picked."}
    return [created, created | closed | {"at": checkout.expires_at}]


def _kind_of(row: RowMapping) -> str:
    if row["kind"] == "call":
        return "Read" if row["text"].startswith(_READS) else "Call"
    return "Webhook" if row["kind"] == "webhook" else "State"


# The number of lines of a signed string, and its last line when a request has no body.
_LINES, _NO_BODY = 4, sha256(b"").hexdigest()
_SECONDS = re.compile("[0-9]{1,12}")


def rejection_of(session: Session, entry: LoggedRequest) -> dict[str, Any] | None:
    """Explain a refused signature by the parts of its string; None when it was accepted or not required."""
    lines = (entry.signed_string or "").split("\n")
    if len(lines) != _LINES:
        return None
    off, window = _seconds_off(entry, lines[2]), assumption("timestamp_window")
    return {
        "client_is_known": session.scalar(select(exists().where(Account.client_id == (entry.client_id or "")))),
        "seconds_off": off,
        "window": window,
        "is_late": off is None or (window != "off" and off > int(window)),
        "body_was_empty": lines[3] == _NO_BODY,
    }


def _seconds_off(entry: LoggedRequest, timestamp: str) -> int | None:
    """Difference from the virtual clock or the machine's, whichever is nearer: the sandbox accepts both.

    None for a timestamp that is no number.
    """
    if not _SECONDS.fullmatch(timestamp):
        return None
    arrived = int(entry.at.timestamp())
    clocks = (arrived, arrived - int(world().clock.offset.total_seconds()))
    return min(abs(int(timestamp) - clock) for clock in clocks)
