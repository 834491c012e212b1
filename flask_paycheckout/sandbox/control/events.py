"""The feed of a sandbox's events: calls of the service, moves of states and attempts of webhooks, in order of time.

A cursor names a place in the feed: when the sandbox began, and the highest number of each kind that was given. After a
reset the sandbox has begun anew, and so have the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.auth.tables import Account, User
from flask_paycheckout.sandbox.deposits.tables import Deposit, DepositActivity
from flask_paycheckout.sandbox.disbursements.tables import Disbursement, DisbursementActivity
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAttempt
from flask_paycheckout.sandbox.payments.tables import Payment, PaymentActivity
from flask_paycheckout.sandbox.wire.envelope import iso
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest

MAX_EVENTS = 200
"""The most events of one kind that an answer holds."""
_CURSOR = re.compile(r"[0-9]{1,18}(-[0-9]{1,18}){5}")


@dataclass(frozen=True)
class Source:
    """One kind of events: the number that orders it, its rows, its account's name, and the event of a row."""

    kind: str
    number: InstrumentedAttribute[int]
    rows: Any
    """A select of the row itself, what it is about, and the name of its account."""
    account: InstrumentedAttribute[Any]
    describe: Callable[[Any], dict[str, Any]]


def _call(row: Any) -> dict[str, Any]:
    entry = row[0]
    return {
        "at": entry.at,
        "about": None,
        "text": f"{entry.method} {entry.target}",
        "outcome": "no answer" if entry.status is None else str(entry.status),
        "detail": f"fault: {entry.fault}" if entry.fault else "",
    }


def _move(row: Any) -> dict[str, Any]:
    moved, about = row[0], row[1]
    return {
        "at": moved.updated_at,
        "about": about,
        "text": moved.activity,
        "outcome": moved.status,
        "detail": moved.description,
    }


def _attempt(row: Any) -> dict[str, Any]:
    attempt, about = row[0], row[1]
    return {
        "at": attempt.sent_at,
        "about": about,
        "text": f"POST {attempt.url}",
        "outcome": "no answer" if attempt.answer_status is None else str(attempt.answer_status),
        "detail": attempt.error or "",
    }


def _moves(kind: str, activity: Any, owner: Any, link: ColumnElement[bool]) -> Source:
    rows = select(activity, owner.id, Account.name).join(owner, link).join(Account, Account.user_id == owner.user_id)
    return Source(kind, activity.number, rows, Account.name, _move)


SOURCES = (
    Source(
        "call",
        LoggedRequest.number,
        select(LoggedRequest, LoggedRequest.number, LoggedRequest.account),
        LoggedRequest.account,
        _call,
    ),
    _moves("deposit", DepositActivity, Deposit, Deposit.id == DepositActivity.deposit_id),
    _moves("disbursement", DisbursementActivity, Disbursement, Disbursement.id == DisbursementActivity.disbursement_id),
    _moves("payment", PaymentActivity, Payment, Payment.id == PaymentActivity.payment_id),
    Source(
        "webhook",
        WebhookAttempt.number,
        select(WebhookAttempt, Webhook.order_id, Account.name)
        .join(Webhook, Webhook.id == WebhookAttempt.webhook_id)
        .join(Account, Account.user_id == Webhook.user_id),
        Account.name,
        _attempt,
    ),
)
KINDS = tuple(source.kind for source in SOURCES)


def read_events(session: Session, after: str | None, last: int, account: str | None) -> dict[str, Any]:
    """The events after a cursor, at most `MAX_EVENTS` of each kind; without a cursor, the newest `last`.

    :raises FieldError: the cursor is none that an answer gave.
    """
    newest = [session.scalar(select(func.max(source.number))) or 0 for source in SOURCES]
    beginning = _beginning(session)
    places = None if after is None else _places(after, beginning, newest)
    found, reached, more = [], [], False
    for place, (source, until) in enumerate(zip(SOURCES, newest, strict=True)):
        rows = _rows(session, source, None if places is None else places[place], until, last, account)
        found += [_event(source, row) for row in rows]
        is_full = places is not None and len(rows) == MAX_EVENTS
        more = more or is_full
        reached.append(rows[-1][0].number if is_full else until)
    found.sort(key=lambda one: (one["at"], KINDS.index(one["kind"]), one["number"]))
    kept = found if places is not None else found[len(found) - min(last, len(found)) :]
    cursor = "-".join(map(str, [beginning, *reached]))
    return {"events": [one | {"at": iso(one["at"])} for one in kept], "cursor": cursor, "more": more}


def _beginning(session: Session) -> int:
    """When the sandbox began, as a number: the first user is made then, and never removed."""
    made = session.scalars(select(User.created_at).where(User.id == USER_ID)).one()
    return int(made.timestamp() * 1_000_000)


def _places(after: str, beginning: int, newest: list[int]) -> list[int]:
    if not _CURSOR.fullmatch(after):
        raise FieldError("after must be a cursor that an earlier answer gave.")
    began, *places = (int(one) for one in after.split("-"))
    if began != beginning:
        return [0] * len(places)
    # Numbers of an account that was removed may be given again.
    return [min(place, until) for place, until in zip(places, newest, strict=True)]


def _rows(session: Session, source: Source, place: int | None, until: int, last: int, account: str | None) -> list[Any]:
    # Nothing beyond the cursor that is given back, even if it was committed in the meantime.
    wanted = source.rows.where(source.number <= until)
    if account is not None:
        wanted = wanted.where(source.account == account)
    if place is not None:
        wanted = wanted.where(source.number > place).order_by(source.number).limit(MAX_EVENTS)
        return list(session.execute(wanted))
    return list(session.execute(wanted.order_by(source.number.desc()).limit(last)))


def _event(source: Source, row: Any) -> dict[str, Any]:
    return {"kind": source.kind, "number": row[0].number, "account": row[2]} | source.describe(row)
