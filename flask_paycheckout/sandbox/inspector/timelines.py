"""What happened to one checkout, disbursement or payment: calls, states, webhooks and reads, in the order of time.

It is joined from the request log, the history that the service itself keeps, and the record of webhook attempts. Each
source gives its newest entries only, so that a page stays small whatever happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.deposits.tables import DepositActivity
from flask_paycheckout.sandbox.disbursements.tables import DisbursementActivity
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAttempt
from flask_paycheckout.sandbox.payments.tables import PaymentActivity
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest

#: How many entries of each source a timeline shows.
MAX_ENTRIES = 100

CALL = "Call"
READ = "Read"
STATE = "State"
WEBHOOK = "Webhook"
# What is told first of things that happened in the same instant: a call before what it caused.
_ORDER = (CALL, STATE, WEBHOOK, READ)


@dataclass(frozen=True)
class Entry:
    """One thing that happened."""

    at: datetime
    kind: str
    text: str
    outcome: str
    """A status of the thing itself, or of an answer."""
    request: int | None = None
    """The number of the logged request."""
    detail: str = ""


def in_order(*sources: Iterable[Entry]) -> list[Entry]:
    return sorted((entry for source in sources for entry in source), key=_place)


def _place(entry: Entry) -> tuple[datetime, int]:
    return entry.at, _ORDER.index(entry.kind)


def mentions(text: str) -> ColumnElement[bool]:
    """Requests that name something in their address, their body or their answer, as far as the log keeps those."""
    places = (LoggedRequest.target, LoggedRequest.request_body, LoggedRequest.answer_body)
    return or_(*(place.contains(text, autoescape=True) for place in places))


def calls(session: Session, about: ColumnElement[bool]) -> list[Entry]:
    """The logged requests of a kind, as entries."""
    log = LoggedRequest
    columns = (log.number, log.at, log.method, log.target, log.status, log.fault)
    rows = session.execute(select(*columns).where(about).order_by(log.number.desc()).limit(MAX_ENTRIES))
    return [
        Entry(
            row.at,
            READ if row.method in {"GET", "HEAD"} else CALL,
            f"{row.method} {row.target}",
            "no answer" if row.status is None else str(row.status),
            request=row.number,
            detail=f"fault: {row.fault}" if row.fault else "",
        )
        for row in rows
    ]


def states(activities: Iterable[DepositActivity | DisbursementActivity | PaymentActivity]) -> list[Entry]:
    return [
        Entry(entry.updated_at, STATE, entry.activity, entry.status, detail=entry.description) for entry in activities
    ]


def deposit_states(session: Session, deposit_id: str) -> list[Entry]:
    table = DepositActivity
    wanted = select(table).where(table.deposit_id == deposit_id).order_by(table.number.desc())
    return states(reversed(session.scalars(wanted.limit(MAX_ENTRIES)).all()))


def disbursement_states(session: Session, disbursement_id: str) -> list[Entry]:
    table = DisbursementActivity
    wanted = select(table).where(table.disbursement_id == disbursement_id).order_by(table.number.desc())
    return states(reversed(session.scalars(wanted.limit(MAX_ENTRIES)).all()))


def payment_states(session: Session, payment_id: str) -> list[Entry]:
    table = PaymentActivity
    wanted = select(table).where(table.payment_id == payment_id).order_by(table.number.desc())
    return states(reversed(session.scalars(wanted.limit(MAX_ENTRIES)).all()))


def webhook_attempts(session: Session, order_id: str) -> list[Entry]:
    rows = session.execute(
        select(WebhookAttempt, Webhook.state)
        .join(Webhook, Webhook.id == WebhookAttempt.webhook_id)
        .where(Webhook.order_id == order_id)
        .order_by(WebhookAttempt.number.desc())
        .limit(MAX_ENTRIES)
    )
    return [_attempt(attempt, state) for attempt, state in reversed(rows.all())] + _unsent(session, order_id)


def _attempt(attempt: WebhookAttempt, state: str) -> Entry:
    outcome = "no answer" if attempt.answer_status is None else str(attempt.answer_status)
    return Entry(attempt.sent_at, WEBHOOK, f"POST {attempt.url}", outcome, detail=attempt.error or f"now {state}")


def _unsent(session: Session, order_id: str) -> list[Entry]:
    """Webhooks without any attempt: held back, dropped by a fault, or with nowhere to go."""
    wanted = select(Webhook).where(Webhook.order_id == order_id, Webhook.attempts == 0)
    rows = session.scalars(wanted.order_by(Webhook.created_at.desc()).limit(MAX_ENTRIES))
    return [Entry(row.created_at, WEBHOOK, "Not sent", row.state.replace("_", " ")) for row in rows]
