"""The feed of a sandbox's events: calls of the service, moves of states and attempts of webhooks, in order of time.

A cursor is a position in the feed: the time at which the sandbox began, and the highest event number of the answer. A
reset or a restore sets a new beginning and restarts the numbers.
"""

from __future__ import annotations

import re

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.wire.envelope import FieldError, Record, Timestamp
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.settings import WorldSettings
from flask_paycheckout.sandbox.world.transitions import Activity

MAX_EVENTS = 200
"""The most events that an answer holds."""
_CURSOR = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


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


_account = func.coalesce(Account.name, Activity.account)
FEED = select(
    Activity.kind,
    Activity.number,
    Activity.request,
    Activity.updated_at.label("at"),
    _account.label("account"),
    Activity.about,
    Activity.activity.label("text"),
    Activity.status.label("outcome"),
    Activity.description.label("detail"),
).outerjoin(Account, Account.user_id == Activity.user_id)
"""A select of all events."""


def read_events(session: Session, after: str | None, last: int, account: str | None) -> Events:
    """The events after a cursor, at most `MAX_EVENTS`; without a cursor, the newest `last`.

    :raises FieldError: the cursor does not come from an answer.
    """
    newest = session.scalar(select(func.max(Activity.number))) or 0
    began = session.get_one(WorldSettings, 1).began
    # Leave out events beyond the returned cursor, even if they were committed in the meantime.
    query = FEED.where(Activity.number <= newest)
    if account is not None:
        query = query.where(_account == account)
    if after is None:
        query = query.order_by(Activity.number.desc()).limit(last)
    else:
        position = _place(after, began, newest)
        query = query.where(Activity.number > position).order_by(Activity.number).limit(MAX_EVENTS)
    events = sorted(Event.of_all(session.execute(query)), key=lambda event: event.number)
    more = after is not None and len(events) == MAX_EVENTS
    cursor = f"{began}-{events[-1].number if more else newest}"
    # A call comes before its effects, although it is logged after them.
    return Events(sorted(events, key=lambda event: (event.at, event.kind != "call")), cursor, more)


def _place(after: str, began: int, newest: int) -> int:
    cursor = _CURSOR.fullmatch(after)
    if cursor is None:
        raise FieldError("after must be a cursor that an earlier answer gave.")
    # The numbers of a removed account's events may be used again.
    return min(int(cursor[2]), newest) if int(cursor[1]) == began else 0
