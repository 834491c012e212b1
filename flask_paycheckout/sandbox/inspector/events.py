"""`GET /inspector/events`: everything that happened, of all accounts, of one, or about one thing, newest first.

Each kind of events is read along its own numbers, newest first, and the kinds are merged by time. A place in the list
names the lowest number of each kind that was shown, so that older events follow without gaps and without repetitions.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.inspector.account_filter import AccountFilter, read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, show
from flask_paycheckout.sandbox.inspector.events_about import conditions_about
from flask_paycheckout.sandbox.levers.events import SOURCES, Source
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.world.database import transaction

MAX_EVENTS = 50
"""Events on a page."""
LOOKED_THROUGH = 10_000
"""The most rows of each kind that a page looks through for those of an account or about a thing."""
MOVE = "move"
_MOVES = ("deposit", "disbursement", "payment")
KINDS = ("call", MOVE, "webhook", "mail")
"""Values of the filter `?kind=`."""

_LOGS = ("call", "mail")
_MAX_NUMBER = 2**31 - 1


def _mail(row: Any) -> dict[str, Any]:
    mail = row[0]
    return {
        "at": mail.sent_at,
        "about": mail.to,
        "text": f"to {mail.to}: {mail.subject}",
        "outcome": mail.state,
        "detail": "",
    }


_MAIL_ROWS = select(Mail, Mail.to, Account.name).join(Account, Account.user_id == Mail.user_id)
_ALL = (*SOURCES, Source("mail", Mail.number, _MAIL_ROWS, Account.name, _mail))
_PLACE = re.compile(rf"[0-9]{{1,10}}(-[0-9]{{1,10}}){{{len(_ALL) - 1}}}")


@dataclass
class Stretch:
    """Events of one kind below a place, newest first, and how far they were looked through."""

    source: Source
    place: int
    """Everything from this number on was shown already, or looked through."""
    events: deque[dict[str, Any]] = field(default_factory=deque)
    end: int | None = None
    """The number down to which rows were looked through, when there are more below it."""

    @property
    def is_cut(self) -> bool:
        """Whether the next event may be one that was not read yet."""
        return not self.events and self.end is not None

    def take(self) -> dict[str, Any]:
        event = self.events.popleft()
        self.place = event["number"]
        return event


@inspector.get("/inspector/events")
def show_events() -> Response:
    """Show events, filtered by `?about=` (an id), `?kind=` and `?account=`; `?before=` continues below a place."""
    about, kind = query_text("about"), query_text("kind")
    with transaction() as session:
        for move in (expire_due, settle_due, progress_due):
            move(session)
        accounts = read_filter(session)
        conditions = conditions_about(session, about) if about else {}
        stretches = [
            _read(session, source, place, accounts, conditions.get(source.kind))
            for source, place in zip(_ALL, _places(), strict=True)
            if _is_wanted(source, kind)
        ]
    events = _merged(stretches)
    lowest = {stretch.source.kind: stretch.place for stretch in stretches}
    has_older = any(stretch.events or stretch.is_cut for stretch in stretches)
    places = [str(lowest.get(source.kind, place)) for source, place in zip(_ALL, _places(), strict=True)]
    return show(
        "events",
        events=events,
        older="-".join(places) if has_older else None,
        wanted={"about": about, "kind": kind},
        kinds=KINDS,
        accounts=accounts,
        looked_through=LOOKED_THROUGH,
    )


def _is_wanted(source: Source, kind: str) -> bool:
    return kind not in KINDS or source.kind == kind or (kind == MOVE and source.kind in _MOVES)


def _places() -> list[int]:
    """The place that the address names; the newest for what is none."""
    sent = query_text("before")
    if not _PLACE.fullmatch(sent):
        return [_MAX_NUMBER] * len(_ALL)
    return [min(int(number), _MAX_NUMBER) for number in sent.split("-")]


def _read(
    session: Session, source: Source, place: int, accounts: AccountFilter, about: list[ColumnElement[bool]] | None
) -> Stretch:
    """Read the newest events of a kind below a place.

    :param about: conditions of one thing; None for all things.
    """
    stretch = Stretch(source, place)
    narrowing = [*(about or []), *([source.account == accounts.name] if accounts.name else [])]
    wanted = source.rows.where(source.number < place, *narrowing)
    # What is about one thing has an index, but for the logs.
    if narrowing and (about is None or source.kind in _LOGS):
        # With the account inside, so that databases do not begin with all that an account has.
        columns = source.number.label("number"), source.account.label("account")
        below = source.rows.with_only_columns(*columns).where(source.number < place).order_by(source.number.desc())
        looked_at = below.limit(LOOKED_THROUGH).subquery()
        wanted = source.rows.join(looked_at, looked_at.c.number == source.number).where(*(about or []))
        wanted = wanted.where(looked_at.c.account == accounts.name) if accounts.name else wanted
        stretch.end = session.scalar(below.offset(LOOKED_THROUGH - 1).limit(1))
    rows = session.execute(wanted.order_by(source.number.desc()).limit(MAX_EVENTS + 1))
    described = (
        {"kind": source.kind, "number": row[0].number, "account": row[2]} | source.describe(row) for row in rows
    )
    stretch.events = deque(described)
    if len(stretch.events) > MAX_EVENTS:
        # The page is full before these are used up.
        stretch.end = None
    return stretch


def _merged(stretches: list[Stretch]) -> list[dict[str, Any]]:
    """The newest events of all kinds, until the page is full or a kind would have to be looked through further."""
    taken: list[dict[str, Any]] = []
    while len(taken) < MAX_EVENTS:
        if any(stretch.is_cut for stretch in stretches):
            break
        with_more = [stretch for stretch in stretches if stretch.events]
        if not with_more:
            break
        taken.append(max(with_more, key=_newness).take())
    for stretch in stretches:
        if stretch.is_cut and stretch.end is not None:
            stretch.place = stretch.end
    return taken


def _newness(stretch: Stretch) -> tuple[datetime, int]:
    # Of the same time, effects come after what caused them.
    kinds = [source.kind for source in _ALL]
    return stretch.events[0]["at"], kinds.index(stretch.source.kind)
