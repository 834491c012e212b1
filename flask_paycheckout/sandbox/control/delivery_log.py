"""Webhooks with their delivery attempts, for the control interface and the inspector."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAttempt
from flask_paycheckout.sandbox.wire.envelope import iso

MAX_SHOWN = 1000
"""The most webhooks that are shown."""


def list_webhooks(session: Session, *conditions: ColumnElement[bool], limit: int = MAX_SHOWN) -> list[dict[str, Any]]:
    """The newest webhooks that fulfil the conditions, oldest first."""
    rows = session.execute(
        select(Webhook, Account.name)
        .join(Account, Account.user_id == Webhook.user_id)
        .where(*conditions)
        .order_by(Webhook.created_at.desc(), Webhook.id.desc())
        .limit(limit)
    )
    webhooks = list(reversed(rows.all()))
    attempts = _attempts_of(session, [webhook.id for webhook, _ in webhooks])
    return [_describe(webhook, account, attempts[webhook.id]) for webhook, account in webhooks]


def describe_webhook(session: Session, webhook_id: str) -> dict[str, Any]:
    return list_webhooks(session, Webhook.id == webhook_id)[0]


def _attempts_of(session: Session, webhook_ids: list[str]) -> defaultdict[str, list[WebhookAttempt]]:
    found: defaultdict[str, list[WebhookAttempt]] = defaultdict(list)
    rows = session.execute(
        select(WebhookAttempt).where(WebhookAttempt.webhook_id.in_(webhook_ids)).order_by(WebhookAttempt.number)
    )
    for attempt in rows.scalars():
        found[attempt.webhook_id].append(attempt)
    return found


def _describe(webhook: Webhook, account: str, attempts: list[WebhookAttempt]) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "account": account,
        "orderId": webhook.order_id,
        "state": webhook.state,
        "createdAt": iso(webhook.created_at),
        "dueAt": iso(webhook.due_at),
        "attempts": [
            {
                "at": iso(attempt.sent_at),
                "request": {
                    "method": "POST",
                    "url": attempt.url,
                    "headers": json.loads(attempt.headers),
                    "body": webhook.payload,
                },
                "answer": None if attempt.answer_status is None else {"status": attempt.answer_status},
                "error": attempt.error,
            }
            for attempt in attempts
        ],
    }
