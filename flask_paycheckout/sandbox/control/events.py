"""The feed of a sandbox's events: calls of the service, moves of states and attempts of webhooks, in order of time.

A cursor names a place in the feed: when the sandbox began, and the highest number of each kind that was given. After a
reset or a restore the sandbox has begun anew, and so have the numbers.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import ColumnElement, Select, String, cast, func, literal, null, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAttempt
from flask_paycheckout.sandbox.wire.envelope import FieldError, Record, Timestamp
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.settings import WorldSettings
from flask_paycheckout.sandbox.world.transitions import Activity

MAX_EVENTS = 200
"""The most events of one kind that an answer holds."""
_CURSOR = re.compile(r"[0-9]{1,18}(-[0-9]{1,18}){3}")


class Event(Record):
    """An event of the feed."""

    kind: str
    number: int
    at: Timestamp
    account: str | None
    about: str | None
    text: str
    outcome: str
    detail: str


class Events(Record):
    """A part of the feed, and where the next one begins."""

    events: list[Event]
    cursor: str
    more: bool


def _rows(*columns: ColumnElement[Any] | InstrumentedAttribute[Any]) -> Select[Any]:
    """A select of events, given the columns of `Event` in their order."""
    return select(*(column.label(name) for name, column in zip(Event.__struct_fields__, columns, strict=True)))


def _status(status: InstrumentedAttribute[int | None]) -> ColumnElement[str]:
    return func.coalesce(cast(status, String), "no answer")


_LOG, _MOVE, _SENT = LoggedRequest, Activity, WebhookAttempt
SOURCES = (
    _rows(
        literal("call"),
        _LOG.number,
        _LOG.at,
        _LOG.account,
        null(),
        _LOG.method + " " + _LOG.target,
        _status(_LOG.status),
        func.coalesce("fault: " + _LOG.fault, ""),
    ),
    _rows(
        _MOVE.kind,
        _MOVE.number,
        _MOVE.updated_at,
        Account.name,
        _MOVE.about,
        _MOVE.activity,
        _MOVE.status,
        _MOVE.description,
    ).join(Account, Account.user_id == _MOVE.user_id),
    _rows(
        literal("webhook"),
        _SENT.number,
        _SENT.sent_at,
        Account.name,
        Webhook.order_id,
        "POST " + _SENT.url,
        _status(_SENT.answer_status),
        func.coalesce(_SENT.error, ""),
    )
    .join(Webhook, Webhook.id == _SENT.webhook_id)
    .join(Account, Account.user_id == Webhook.user_id),
)
"""A select of the events of each source: calls, moves of states, and attempts of webhooks."""


def read_events(session: Session, after: str | None, last: int, account: str | None) -> Events:
    """The events after a cursor, at most `MAX_EVENTS` of each kind; without a cursor, the newest `last`.

    :raises FieldError: the cursor is none that an answer gave.
    """
    newest = [session.scalar(select(func.max(source.selected_columns.number))) or 0 for source in SOURCES]
    beginning = session.get_one(WorldSettings, 1).began
    places = [None] * len(newest) if after is None else _places(after, beginning, newest)
    found: list[Event] = []
    reached, more = [], False
    for place, source, until in zip(places, SOURCES, newest, strict=True):
        rows = sorted(session.execute(_wanted(source, place, until, last, account)), key=lambda row: row.number)
        found += Event.of_all(rows)
        is_full = place is not None and len(rows) == MAX_EVENTS
        more = more or is_full
        reached.append(found[-1].number if is_full else until)
    # Events of the same time stay in the order of sources and numbers: a call comes before its effects.
    found.sort(key=lambda one: one.at)
    kept = found[max(0, len(found) - last) :] if after is None else found
    return Events(kept, "-".join(map(str, [beginning, *reached])), more)


def _places(after: str, beginning: int, newest: list[int]) -> list[int]:
    if not _CURSOR.fullmatch(after):
        raise FieldError("after must be a cursor that an earlier answer gave.")
    began, *places = (int(one) for one in after.split("-"))
    if began != beginning:
        return [0] * len(places)
    # Numbers of an account that was removed may be given again.
    return [min(place, until) for place, until in zip(places, newest, strict=True)]


def _wanted(source: Select[Any], place: int | None, until: int, last: int, account: str | None) -> Select[Any]:
    number = source.selected_columns.number
    # Nothing beyond the cursor that is given back, even if it was committed in the meantime.
    wanted = source.where(number <= until)
    if account is not None:
        wanted = wanted.where(source.selected_columns.account == account)
    if place is not None:
        return wanted.where(number > place).order_by(number).limit(MAX_EVENTS)
    return wanted.order_by(number.desc()).limit(last)
