"""Timelines of a checkout, a disbursement or a payment: its calls, states, webhooks and reads, in order of time.

A timeline is merged from the request log, the history that the service keeps, and the webhook attempts. Each source
is limited to its newest entries, so that pages stay small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.deposits.tables import DepositActivity
from flask_paycheckout.sandbox.disbursements.tables import DisbursementActivity
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAttempt
from flask_paycheckout.sandbox.payments.tables import PaymentActivity
from flask_paycheckout.sandbox.wire.request_log import KEPT, LoggedRequest

MAX_ENTRIES = 100
"""The most entries of each source in a timeline."""

CALL = "Call"
READ = "Read"
STATE = "State"
WEBHOOK = "Webhook"
# The order of entries with the same time: a call before its effects.
_ORDER = (CALL, STATE, WEBHOOK, READ)


@dataclass(frozen=True)
class Entry:
    """One event in a timeline."""

    at: datetime
    kind: str
    text: str
    outcome: str
    """The new status, or the status of the answer."""
    request: int | None = None
    """The number of the logged request."""
    detail: str = ""


def in_order(*sources: Iterable[Entry]) -> list[Entry]:
    return sorted((entry for source in sources for entry in source), key=_place)


def _place(entry: Entry) -> tuple[datetime, int]:
    return entry.at, _ORDER.index(entry.kind)


def mentions(text: str) -> ColumnElement[bool]:
    """The condition that a logged request contains a text in its target, body or answer, as far as these are kept."""
    places = (LoggedRequest.target, LoggedRequest.request_body, LoggedRequest.answer_body)
    return or_(*(place.contains(text, autoescape=True) for place in places))


def calls(session: Session, about: ColumnElement[bool]) -> list[Entry]:
    """Logged requests as entries."""
    log = LoggedRequest
    columns = (log.number, log.at, log.method, log.target, log.status, log.fault)
    newest = session.scalar(select(func.max(log.number))) or 0
    wanted = select(*columns).where(log.number > newest - KEPT, about)
    rows = session.execute(wanted.order_by(log.number.desc()).limit(MAX_ENTRIES))
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
    """Webhooks without an attempt: waiting, dropped by a fault, or without an endpoint."""
    wanted = select(Webhook).where(Webhook.order_id == order_id, Webhook.attempts == 0)
    rows = session.scalars(wanted.order_by(Webhook.created_at.desc()).limit(MAX_ENTRIES))
    return [Entry(row.created_at, WEBHOOK, "Not sent", row.state.replace("_", " ")) for row in rows]
