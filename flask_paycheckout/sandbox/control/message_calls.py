"""Calls about what a sandbox receives and sends: mails, webhooks, planned faults, the request log, the feed."""

from __future__ import annotations

from typing import Annotated

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute, Session, joinedload

from flask_paycheckout.sandbox.control.accounts import find_account
from flask_paycheckout.sandbox.control.calls import call
from flask_paycheckout.sandbox.control.events import MAX_EVENTS, Events, read_events
from flask_paycheckout.sandbox.control.sender import run_due
from flask_paycheckout.sandbox.outgoing.faults import FaultRecord, NewFault, active_faults, clear_faults, plan_fault
from flask_paycheckout.sandbox.outgoing.mails import Mail, MailRecord
from flask_paycheckout.sandbox.outgoing.webhooks import Attempt, Webhook, redeliver
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp
from flask_paycheckout.sandbox.wire.field_types import MAX_ADDRESS, Request, Text, text, whole
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest, RequestRecord
from flask_paycheckout.sandbox.world.database import KEPT, transaction

MAX_SHOWN = 1000
"""The most webhooks that are shown."""


class OfAccount(Request):
    """A query for what belongs to one account."""

    account: Text | None = None

    def conditions(self, session: Session, column: InstrumentedAttribute[str]) -> list[ColumnElement[bool]]:
        return [] if self.account is None else [column == find_account(session, self.account).user_id]


class MailQuery(OfAccount):
    to: Annotated[str, text(MAX_ADDRESS)] | None = None


class EventQuery(OfAccount):
    after: Text | None = None
    last: Annotated[int, whole(0, MAX_EVENTS)] = 20


class WebhookRecord(Record):
    """A webhook with its attempts."""

    id: str
    account: str
    order_id: str
    state: str
    created_at: Timestamp
    due_at: Timestamp
    attempts: list[Attempt]


def list_webhooks(session: Session, *conditions: ColumnElement[bool]) -> list[WebhookRecord]:
    """The newest webhooks that fulfil the conditions, oldest first."""
    newest = session.scalars(
        select(Webhook)
        .where(*conditions)
        .options(joinedload(Webhook.account))
        .order_by(Webhook.number.desc())
        .limit(MAX_SHOWN)
    )
    return [
        WebhookRecord.of(webhook, account=webhook.account.name, attempts=webhook.tried)
        for webhook in newest.all()[::-1]
    ]


def send_again(webhook_id: str) -> WebhookRecord:
    """Send a webhook once more. :raises CallRefused: it does not exist."""
    with transaction() as session:
        if not redeliver(session, webhook_id):
            raise CallRefused(404, "webhook", "does not exist", "GET /_sandbox/webhooks lists them.")
    run_due()
    with transaction() as session:
        return list_webhooks(session, Webhook.id == webhook_id)[0]


call("POST /webhooks/<webhook_id>/redeliver", "sends a webhook again")(send_again)


@call(
    "GET /webhooks",
    "lists the last 1,000 webhooks, oldest first",
    command="webhooks",
    shown="id createdAt account orderId state",
)
def read_webhooks(session: Session, query: OfAccount) -> list[WebhookRecord]:
    return list_webhooks(session, *query.conditions(session, Webhook.user_id))


@call(
    "GET /mails",
    'lists the mails that were "sent", newest first; to selects an address',
    command="mails",
    shown="sentAt to subject otp",
)
def read_mails(session: Session, query: MailQuery) -> list[MailRecord]:
    conditions = query.conditions(session, Mail.user_id)
    if query.to is not None:
        conditions.append(Mail.address == query.to.casefold())
    newest = select(Mail).where(*conditions).order_by(Mail.number.desc()).limit(KEPT)
    return MailRecord.of_all(session.scalars(newest))


@call(
    "GET /faults",
    "lists the faults that are still armed, oldest first",
    shown="id operation kind times account",
)
def read_faults(session: Session) -> list[FaultRecord]:
    return FaultRecord.of_all(active_faults(session))


@call("POST /faults", "arms a fault")
def order_fault(session: Session, sent: NewFault) -> FaultRecord:
    user_id = None if sent.account is None else find_account(session, sent.account).user_id
    return plan_fault(session, sent, user_id)


@call("DELETE /faults", "removes all faults")
def forget_faults(session: Session) -> list[FaultRecord]:
    clear_faults(session)
    return []


@call("GET /events", "calls, moves of states and webhooks after a cursor, oldest first")
def follow_events(session: Session, query: EventQuery) -> Events:
    name = None if query.account is None else find_account(session, query.account).name
    return read_events(session, query.after, query.last, name)


@call(
    "GET /requests",
    "lists the last 1,000 calls of the service, newest first, with secrets masked",
    command="requests",
    shown="id at status method target account",
)
def read_requests(session: Session, query: OfAccount) -> list[RequestRecord]:
    # By the name in the log, which also finds calls of removed accounts.
    conditions = [] if query.account is None else [LoggedRequest.account == query.account]
    newest = select(LoggedRequest).where(*conditions).order_by(LoggedRequest.number.desc()).limit(KEPT)
    return RequestRecord.of_all(session.scalars(newest))
