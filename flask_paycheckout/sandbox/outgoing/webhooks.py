"""Webhooks to the merchants, each to the address of the account that it concerns, and their delivery with retries.

A webhook is stored in the transaction of the event that it reports, and sent after the commit, with no transaction
open, by the thread or the call that claims it. Deliveries and retries become due by the virtual
clock.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from time import monotonic, sleep
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Index, exists, or_, select, update
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column, relationship

from flask_paycheckout.sandbox.outgoing.faults import take_webhook_fault
from flask_paycheckout.sandbox.outgoing.webhook_sender import TIME_BUDGET
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp, encode
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, current_time, world
from flask_paycheckout.sandbox.world.database import AccountId, Serial, Table, rows_changed, transaction
from flask_paycheckout.sandbox.world.settings import new_id
from flask_paycheckout.sandbox.world.transitions import Activity

_PLAIN = {"Content-Type": "application/json", "User-Agent": "payments-sandbox/1"}


WAITING = "waiting"
DELIVERED = "delivered"
FAILED = "failed"
DROPPED = "dropped"
NO_ENDPOINT = "no_endpoint"

RETRY_DELAYS = (60, 300, 1800, 7200, 21600)
"""Seconds of the virtual clock after which a failed attempt is repeated; after the last retry the webhook has failed.
"""
HELD_FOR = timedelta(seconds=300)
"""The longest time that the fault `reorder` holds a webhook back until another one is sent."""

_LEASE = timedelta(seconds=60)
# A longer run would be an endless loop between the sandbox and its receiver.
_MAX_AT_ONCE = 1000
_MAX_ERROR_TEXT = 300


class SentRequest(Record):
    """The request of one attempt to send a webhook."""

    method: str
    url: str
    headers: dict[str, str]
    body: str


class Answered(Record):
    """The answer to an attempt."""

    status: int


class Attempt(Record):
    """One attempt to send a webhook."""

    at: Timestamp
    request: SentRequest
    answer: Answered | None
    error: str | None

    @property
    def outcome(self) -> str:
        return "no answer" if self.answer is None else str(self.answer.status)


class Webhook(Table):
    __tablename__ = "webhook"

    number: Mapped[Serial]
    """Ascending in the order of creation, also while the clock stands."""
    id: Mapped[str] = mapped_column(unique=True)
    user_id: Mapped[AccountId]
    account: Mapped[Account] = relationship()
    """The account whose deposit or disbursement it reports."""
    order_id: Mapped[str] = mapped_column(index=True)
    payload: Mapped[str]
    state: Mapped[str]
    copies: Mapped[int]
    """How often each delivery sends it: twice with the fault `duplicate`."""
    held: Mapped[bool]
    """Whether it waits until another webhook was sent."""
    attempts: Mapped[int]
    sent: Mapped[str] = mapped_column(default="[]")
    """The attempts, of which one may have sent several copies, as JSON."""
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    claimed_until: Mapped[datetime | None]

    __table_args__ = (Index("webhook_due", "state", "due_at", "number"),)

    @property
    def tried(self) -> list[Attempt]:
        return msgspec.json.decode(self.sent, type=list[Attempt])


def enqueue(session: Session, user_id: str, order_id: str, payload: Mapping[str, Any]) -> None:
    """Store a webhook to an account in the current transaction, after applying a fault of the plan."""
    now = current_time()
    webhook = Webhook(
        id=new_id(session),
        user_id=user_id,
        order_id=order_id,
        payload=encode(payload).decode(),
        state=WAITING,
        copies=1,
        held=False,
        attempts=0,
        created_at=now,
        due_at=now,
    )
    fault = take_webhook_fault(session, user_id, "drop", "duplicate", "delay", "reorder")
    match None if fault is None else fault.kind:
        case "drop":
            webhook.state = DROPPED
        case "duplicate":
            webhook.copies = 2
        case "delay" if fault is not None:
            webhook.due_at += timedelta(seconds=float(fault.seconds or 0))
        case "reorder":
            webhook.held, webhook.due_at = True, now + HELD_FOR
    session.add(webhook)
    if webhook.state == DROPPED:
        _note(session, webhook, "Not sent", DROPPED, "A fault dropped it.")


def _note(session: Session, webhook: Webhook, activity: str, outcome: str, description: str) -> None:
    """Add the outcome of a webhook to the feed."""
    session.add(
        Activity(
            kind="webhook",
            about=webhook.order_id,
            user_id=webhook.user_id,
            activity=activity,
            description=description,
            status=outcome,
            updated_at=current_time(),
        )
    )


def deliver_due(order_id: str | None = None) -> int:
    """Send all due webhooks, or only one order's; must be called outside of a transaction.

    :return: how many were sent."""
    conditions = [] if order_id is None else [Webhook.order_id == order_id]
    sent = 0
    while sent < _MAX_AT_ONCE and (webhook := claim_webhook(*conditions)) is not None:
        deliver(webhook)
        sent += 1
    return sent


def deliver(webhook: Webhook) -> None:
    """Send a claimed webhook and record the result, if there is somewhere to send it.

    :param webhook: as it was claimed; a result is stored only if `claimed_until` is still the same.
    """
    url = webhook.account.webhook_url
    if url is None:
        return
    body = webhook.payload.encode()
    headers = _PLAIN | _event(webhook) | _signature(body, webhook.account.client_secret)
    attempts = [_send(url, headers, body) for _ in range(webhook.copies)]
    with transaction() as session:
        stored = session.get(Webhook, webhook.number, with_for_update=True)
        if stored is None or stored.claimed_until != webhook.claimed_until:
            # The sandbox was reset or restored, or the webhook made due again, while it was being sent.
            return
        stored.sent = encode([*stored.tried, *attempts]).decode()
        for attempt in attempts:
            _note(session, stored, f"POST {url}", attempt.outcome, attempt.error or "")
        stored.claimed_until = None
        stored.attempts += 1
        _decide_next(stored, accepted=any(attempt.outcome.startswith("2") for attempt in attempts))
        _release_held(session, stored)


def _event(webhook: Webhook) -> dict[str, str]:
    """The headers that describe one attempt; the number of the first is 1."""
    if assumption("webhook_headers") == "plain":
        return {}
    event = "deposit" if "orderId" in json.loads(webhook.payload) else "disbursement"
    return {"X-Webhook-Event": event, "X-Webhook-Id": webhook.id, "X-Webhook-Attempt": str(webhook.attempts + 1)}


def _signature(body: bytes, client_secret: str) -> dict[str, str]:
    form = assumption("webhook_signature")
    if form == "none":
        return {}
    headers = {}
    if form == "timestamp_and_body":
        now = str(int(current_time().timestamp()))
        headers["X-Timestamp"], body = now, f"{now}.".encode() + body
    return headers | {"X-Signature": hmac.new(client_secret.encode(), body, sha256).hexdigest()}


def _send(url: str, headers: dict[str, str], body: bytes) -> Attempt:
    attempt = Attempt(current_time(), SentRequest("POST", url, headers, body.decode()), None, None)
    try:
        attempt.answer = Answered(world().send_webhook(url, dict(headers), body))
    except OSError as error:
        attempt.error = f"{type(error).__name__}: {error}"[:_MAX_ERROR_TEXT]
    return attempt


def is_in_turn() -> ColumnElement[bool]:
    """The condition that no other webhook about the same order is being sent, in any process."""
    other = aliased(Webhook)
    now = world().clock.machine()
    return ~exists().where(
        other.order_id == Webhook.order_id, other.id != Webhook.id, other.state == WAITING, other.claimed_until > now
    )


def is_any_waiting(*conditions: ColumnElement[bool]) -> bool:
    """Whether a webhook without a recorded result fulfils the conditions."""
    with transaction() as session:
        return session.scalar(select(Webhook.id).where(Webhook.state == WAITING, *conditions).limit(1)) is not None


def redeliver(session: Session, webhook_id: str) -> bool:
    """Make a webhook due again, whatever its state; False when it does not exist."""
    again = update(Webhook).values(state=WAITING, due_at=current_time(), copies=1, held=False, claimed_until=None)
    return bool(rows_changed(session, again.where(Webhook.id == webhook_id)))


def claim_webhook(*conditions: ColumnElement[bool]) -> Webhook | None:
    """Claim the first webhook that is due and fulfils the conditions; None when there is none.

    A claim ends by the machine's clock, not by the virtual one: advancing the virtual clock must not let a second
    process send what the first is sending.
    """
    now = world().clock.machine()
    is_free = or_(Webhook.claimed_until.is_(None), Webhook.claimed_until <= now)
    due = select(Webhook).where(Webhook.state == WAITING, Webhook.due_at <= current_time(), is_free, *conditions)
    with transaction() as session:
        first = due.order_by(Webhook.due_at, Webhook.number).limit(1)
        # Skip locked rows: another process is claiming them.
        webhook = session.scalar(first.with_for_update(skip_locked=True))
        if webhook is None:
            return None
        # Not held any more, because two processes that send held webhooks could deadlock on each other's rows.
        webhook.claimed_until, webhook.held = now + _LEASE, False
        if webhook.account.webhook_url is None:
            webhook.state, webhook.claimed_until = NO_ENDPOINT, None
            _note(session, webhook, "Not sent", NO_ENDPOINT, "The account has no address.")
        return webhook


def _decide_next(webhook: Webhook, *, accepted: bool) -> None:
    if accepted:
        webhook.state = DELIVERED
    elif assumption("webhook_retries") == "on" and webhook.attempts <= len(RETRY_DELAYS):
        # Counted from the time at which it was due, so that advancing the clock far runs several retries.
        webhook.due_at += timedelta(seconds=RETRY_DELAYS[webhook.attempts - 1])
    else:
        webhook.state = FAILED


def _release_held(session: Session, sent: Webhook) -> None:
    """Make webhooks due that were held back until a later one was sent."""
    held = select(Webhook.number).where(Webhook.held, Webhook.state == WAITING)
    # The number is compared here: its own index would find nearly every webhook that was ever sent.
    earlier = [number for number in session.scalars(held) if number < sent.number]
    if earlier:
        released = update(Webhook).where(Webhook.number.in_(earlier), Webhook.held, Webhook.state == WAITING)
        rows_changed(session, released.values(held=False, due_at=current_time()))


def send_due() -> None:
    """Have due webhooks sent, by threads or within the call; must be called outside of a transaction."""
    (world().wake or deliver_due)()


def send_first(order_id: str) -> None:
    """Wait until the webhooks about an order are sent, by this call or by another thread or process."""
    end = monotonic() + 2 * TIME_BUDGET
    is_claimed = Webhook.order_id == order_id, Webhook.claimed_until > world().clock.machine()
    while monotonic() < end and (deliver_due(order_id) or is_any_waiting(*is_claimed)):
        sleep(0.01)
