"""Timelines of a checkout, a disbursement or a payment: its calls, states, webhooks and reads, in order of time.

A timeline is merged from the request log, the history that the service keeps, and the webhook attempts. Each source
is limited to its newest entries, so that pages stay small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAttempt
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
    entries = [entry for source in sources for entry in source]
    return sorted(entries, key=lambda entry: (entry.at, _ORDER.index(entry.kind)))


def calls_about(session: Session, id_: str, target: str | None = None, group: str | None = None) -> list[Entry]:
    """Logged requests that mention an id.

    :param target: the address of further calls about it.
    :param group: the id of the batch that made it, by which its creation is found.
    """
    log = LoggedRequest
    about = _mentions(id_)
    if target:
        about |= log.target == target
    if group:
        about |= (log.method == "POST") & _mentions(group)
    newest = session.scalar(select(func.max(log.number))) or 0
    wanted = select(log.number, log.at, log.method, log.target, log.status, log.fault)
    wanted = wanted.where(log.number > newest - KEPT, about).order_by(log.number.desc())
    return [
        Entry(
            row.at,
            READ if row.method in {"GET", "HEAD"} else CALL,
            f"{row.method} {row.target}",
            "no answer" if row.status is None else str(row.status),
            request=row.number,
            detail=f"fault: {row.fault}" if row.fault else "",
        )
        for row in session.execute(wanted.limit(MAX_ENTRIES))
    ]


def _mentions(text: str) -> ColumnElement[bool]:
    """The condition that a logged request contains a text in its target, body or answer, as far as these are kept."""
    places = (LoggedRequest.target, LoggedRequest.request_body, LoggedRequest.answer_body)
    return or_(*(place.contains(text, autoescape=True) for place in places))


def states(session: Session, activity: Any, belongs: ColumnElement[bool]) -> list[Entry]:
    """The states in the history of a deposit, a disbursement or a payment."""
    rows = session.scalars(select(activity).where(belongs).order_by(activity.number.desc()).limit(MAX_ENTRIES))
    return [
        Entry(row.updated_at, STATE, row.activity, row.status, detail=row.description) for row in reversed(rows.all())
    ]


def webhook_attempts(session: Session, order_id: str) -> list[Entry]:
    """The attempts of webhooks about an id, and the webhooks that were not sent."""
    rows = session.execute(
        select(Webhook, WebhookAttempt)
        .outerjoin(WebhookAttempt, Webhook.id == WebhookAttempt.webhook_id)
        .where(Webhook.order_id == order_id)
        .order_by(WebhookAttempt.number.desc())
        .limit(MAX_ENTRIES)
    )
    return [_attempt(webhook, attempt) for webhook, attempt in reversed(rows.all())]


def _attempt(webhook: Webhook, attempt: WebhookAttempt | None) -> Entry:
    if attempt is None:
        # It is waiting, was dropped by a fault, or has no endpoint.
        return Entry(webhook.created_at, WEBHOOK, "Not sent", webhook.state.replace("_", " "))
    outcome = "no answer" if attempt.answer_status is None else str(attempt.answer_status)
    detail = attempt.error or f"now {webhook.state}"
    return Entry(attempt.sent_at, WEBHOOK, f"POST {attempt.url}", outcome, detail=detail)
