"""The explanation of one order: attempts, refunds, events, and the rule that decided; for people and for programs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from flask_paycheckout.books.payout_story import PayoutStory, payout_lines, payout_story
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.decisions import accepting, rejecting
from flask_paycheckout.checkouts.payments import Payment
from flask_paycheckout.checkouts.states import best_of
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.history import lines
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.text import (
    PRUNED_EVENTS_TEXT,
    PRUNED_TEXT,
    account_text,
    moment_text,
    plain,
    visible,
)

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["AttemptStory", "EventStory", "Explanation", "Happening", "explain", "total_text"]

_STATUS_TEXT = {
    "unpaid": "Nobody has started to pay this order. (Abandoned attempts may have been pruned.)",
    "created": "The customer was sent to the payment page and has not picked a payment method yet.",
    "pending": "The customer picked a payment method; the money is not here yet.",
    "paid": "The order is paid: the payment was read from the service and agrees with the order's total.",
    "held": "Money arrived that needs your decision.",
    "abandoned": "No payment arrived. A late one would still be noticed.",
}

_REASON_TEXT = {
    "amount_mismatch": "the payment is not what was asked for",
    "duplicate": "another payment already paid this order; this money probably has to go back",
    "order_changed": "the order's total has changed since the customer was sent to pay",
    "order_not_payable": "the shop no longer wants a payment for this order (order_total returned None)",
    "order_total_failed": "the shop could not say what the order costs now (order_total raised)",
}

_MOVE_TEXT = {
    "pending": "The customer picked a payment method; waiting for the money",
    "paid": "Paid",
    "held": "Money arrived and is held for a person to decide",
    "abandoned": "Given up",
    "rejected": "Rejected",
}


@dataclass(frozen=True)
class Happening:
    """One entry of an attempt's history, with its wording for people."""

    at: datetime
    what: str
    """The kind of entry: `created`, `webhook`, `read`, `no answer`, `not applied`, `moved`, `resolved` or `payback`."""

    facts: dict[str, Any]
    text: str


@dataclass(frozen=True)
class AttemptStory:
    """One attempt at paying an order, with its whole history."""

    checkout_id: str
    account: str
    """The merchant account's name; "" is the one of the settings."""

    status: str
    reason: str | None
    total: str
    created_at: datetime
    deposit_status: str | None
    next_read_at: datetime | None
    webhooks: int
    reads: int
    found_by: str | None
    payment: Payment | None
    """The money that arrived, as the deposit reported it; None until then."""

    pays_order: bool
    """Whether this is the attempt that paid the order."""

    payback: str | None
    """For money that paid no order: `waiting` (nobody has decided yet), `refunded` (refunds cover it), `paid_back` or
    `kept`; None for all others."""

    problem: str | None
    """The error of the last read, or of applying its result; None when both succeeded."""

    problem_since: datetime | None
    """The time of the first such error since the last success."""

    happenings: tuple[Happening, ...]
    pruned_at: datetime | None = None
    """The time when `flask paycheckout prune` removed its earlier history and events; None while they are whole."""

    @property
    def decision(self) -> Happening | None:
        """The entry for a person's decision on this held payment; None when there was no decision."""
        decisions = [happening for happening in self.happenings if happening.what == "resolved"]
        return decisions[-1] if decisions else None


@dataclass(frozen=True)
class EventStory:
    """One event, its signal's name, and the state of its delivery."""

    event_id: str
    name: str
    checkout_id: str
    """The id of the checkout that the event is about; for a refund that of the checkout that was paid, else empty."""

    payout_reference: str | None
    """The reference of the payout that the event is about; None for the event of a checkout."""

    occurred_at: datetime
    delivered_at: datetime | None
    superseded_at: datetime | None
    """The time when the event was found to be no longer true; receivers that had not run by then are never called."""

    attempts: int
    last_error: str | None
    receivers_done: tuple[str, ...]
    """The names of the receivers that have run."""

    next_attempt_at: datetime | None
    """The time of the next attempt to deliver; None once delivered or superseded."""

    leased_until: datetime | None
    """The end of the lease of the process that delivers the event; no other process tries before."""


@dataclass(frozen=True)
class Explanation:
    """Every attempt, webhook, read and comparison of an order, the rule that decided, and its refunds and payouts.

    `str()` gives the text that `flask paycheckout show` prints.
    """

    order_id: str
    status: str
    """The order's status: the best one of its attempts, or `unpaid`."""

    attempts: tuple[AttemptStory, ...]
    """The attempts, oldest first."""

    payouts: tuple[PayoutStory, ...]
    """The order's refunds and payouts, oldest first."""

    events: tuple[EventStory, ...]
    """The order's events, oldest first."""

    @property
    def meaning(self) -> str:
        """One sentence that says what the order's status means."""
        if self.status == "unpaid" and self.attempts:
            return "The order is not paid: each payment of it was rejected."
        decision = next((attempt.decision for attempt in self.attempts if attempt.pays_order), None)
        if self.status == "paid" and decision is not None:
            return f"The order is paid: a payment was held, and {_accepted_text(decision.facts)}."
        return _STATUS_TEXT[self.status]

    @property
    def is_pruned(self) -> bool:
        """Whether `flask paycheckout prune` has removed a part of it."""
        pruned = [attempt.pruned_at for attempt in self.attempts] + [payout.pruned_at for payout in self.payouts]
        return any(at is not None for at in pruned)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        return {name: plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        text = [f"Order {self.order_id}: {self.status}. {self.meaning}"]
        for number, attempt in enumerate(self.attempts, start=1):
            text += ["", *_attempt_lines(number, attempt, order_is_paid=self.status == "paid")]
        for payout in self.payouts:
            text += ["", *payout_lines(payout)]
        if self.events or self.is_pruned:
            text += ["", "Events:", *(_event_line(event) for event in self.events)]
        if self.is_pruned:
            text.append(f"  {PRUNED_EVENTS_TEXT}")
        return "\n".join(map(visible, text))


def explain(engine: Engine, models: Models, checkouts: Checkouts, payouts: Payouts, order_id: str) -> Explanation:
    """Explain an order from the stored rows alone; the service is not called."""
    stored = checkouts.of_order(order_id)
    with Session(engine) as session:
        model = models.Event
        events = session.scalars(select(model).where(model.order_id == order_id).order_by(model.id)).all()
        stories = tuple(_event_story(event) for event in events)
    return Explanation(
        order_id,
        best_of({attempt.status for attempt in stored}),
        tuple(_attempt_story(attempt) for attempt in stored),
        tuple(payout_story(payout) for payout in payouts.of_order(order_id)),
        stories,
    )


def _attempt_story(attempt: CheckoutMixin) -> AttemptStory:
    return AttemptStory(
        attempt.checkout_id,
        attempt.account,
        attempt.status,
        attempt.reason,
        total_text(attempt),
        attempt.created_at,
        attempt.deposit_status,
        attempt.next_read_at,
        attempt.webhooks,
        attempt.reads,
        attempt.found_by,
        attempt.payment,
        attempt.paid_order_id is not None,
        _payback(attempt),
        attempt.problem,
        attempt.problem_since,
        tuple(_happening(entry, attempt.created_at) for entry in lines(attempt.history)),
        attempt.pruned_at,
    )


def _payback(attempt: CheckoutMixin) -> str | None:
    if attempt.status not in ("paid", "rejected") or attempt.paid_order_id is not None:
        return None
    return attempt.payback or "waiting"


def total_text(attempt: CheckoutMixin) -> str:
    """The total that the customer was asked for, as text.

    When another program stored an invalid total, its raw columns are shown, so that the rest can still be read.
    """
    try:
        return str(attempt.total)
    except (ValueError, TypeError, ArithmeticError):
        return f"{attempt.total_amount} {attempt.total_currency} (no total)"


def _event_story(event: EventMixin) -> EventStory:
    return EventStory(
        event.event_id,
        event.name,
        event.checkout_id,
        event.payout_reference,
        event.occurred_at,
        event.delivered_at,
        event.superseded_at,
        event.attempts,
        event.last_error,
        tuple(event.done),
        event.next_attempt_at,
        event.lease_until,
    )


def _happening(entry: dict[str, Any], default_at: datetime) -> Happening:
    """One entry for people; also one of a kind that this version does not know.

    :param default_at: the time of an entry that was stored without one.
    """
    facts = {name: value for name, value in entry.items() if name not in ("at", "what")}
    if not isinstance(facts.get("compared", []), list):
        facts["compared"] = [facts["compared"]]
    what = str(entry["what"])
    try:
        text = _TEXT_OF[what](facts)
    except KeyError:
        text = f"{what}: {json.dumps(facts)}"
    at = as_utc(datetime.fromisoformat(entry["at"])) if "at" in entry else default_at
    return Happening(at, what, facts, text)


def _created_text(facts: dict[str, Any]) -> str:
    replaced = f", which replaces {facts['replaces']}" if "replaces" in facts else ""
    return f"Checkout made for {facts['total']}{replaced}"


def _webhook_text(facts: dict[str, Any]) -> str:
    return "Webhook received; it is only a hint to read the deposit"


def _read_text(facts: dict[str, Any]) -> str:
    return f"Deposit read ({facts['via']}): {facts['deposit']}; nothing to change"


def _no_answer_text(facts: dict[str, Any]) -> str:
    return f"No reliable answer, so nothing changed: {facts['error']}"


def _not_applied_text(facts: dict[str, Any]) -> str:
    return f"Deposit read, but its result could not be applied, and is tried again: {facts['error']}"


def _moved_text(facts: dict[str, Any]) -> str:
    reason = f" because {_REASON_TEXT.get(facts['reason'], facts['reason'])}" if "reason" in facts else ""
    return f"{_MOVE_TEXT[facts['to']]}{reason}. Deposit read ({facts['via']}): {facts['deposit']}; {facts['rule']}"


def _resolved_text(facts: dict[str, Any]) -> str:
    decision = "accepted" if facts["to"] == "paid" else "rejected"
    return f"{facts['by']} {decision} the held payment: {facts['why']}"


def _accepted_text(facts: dict[str, Any]) -> str:
    return f"{facts.get('by')} accepted it: {facts.get('why')}"


def _payback_text(facts: dict[str, Any]) -> str:
    outcome = "says that the money is kept" if facts["to"] == "kept" else "says that the money was paid back"
    return f"{facts['by']} {outcome}: {facts['why']}"


_TEXT_OF = {
    "created": _created_text,
    "webhook": _webhook_text,
    "read": _read_text,
    "no answer": _no_answer_text,
    "not applied": _not_applied_text,
    "moved": _moved_text,
    "resolved": _resolved_text,
    "payback": _payback_text,
}


def _attempt_lines(number: int, attempt: AttemptStory, *, order_is_paid: bool) -> list[str]:
    reason = f" ({attempt.reason})" if attempt.reason else ""
    checkout = f"checkout {attempt.checkout_id}{account_text(attempt.account)}"
    text = [f"Attempt {number}: {checkout}, {attempt.total}: {attempt.status}{reason}"]
    if attempt.payment is not None:
        seen = moment_text(attempt.payment.completed_at)
        text.append(f"  Money: {attempt.payment}; seen as completed {seen}")
    if attempt.pruned_at is not None:
        text.append(f"  {moment_text(attempt.pruned_at)}  {PRUNED_TEXT}")
    for happening in attempt.happenings:
        text.append(f"  {moment_text(happening.at)}  {happening.text}")
        text += [f"{'':24}- {fact}" for fact in happening.facts.get("compared", [])]
    if attempt.problem is not None and attempt.problem_since is not None:
        text.append(f"  NOT SETTLED since {moment_text(attempt.problem_since)}: {attempt.problem}")
    if attempt.next_read_at is not None:
        text.append(f"  Read next by reconcile after {moment_text(attempt.next_read_at)}")
    if attempt.status == "held":
        command = f"flask paycheckout resolve {attempt.checkout_id}"
        text.append(f"  Decide with: {command} --accept (or --reject) --by YOU --why REASON")
        text.append(f"    --accept: {accepting(attempt.reason, order_is_paid=order_is_paid)}")
        text.append(f"    --reject: {rejecting()}")
    if attempt.payback == "waiting":
        command = f"flask paycheckout payback {attempt.checkout_id}"
        text.append(f"  TO PAY BACK OR KEEP. When it is done: {command} --done (or --kept) --by YOU --why REASON")
        refund = f"flask paycheckout refund {attempt.checkout_id}"
        text.append(f"    Or refund it: {refund} --by YOU --why REASON")
    return text


def _waiting_text(event: EventStory) -> str:
    times = "time" if event.attempts == 1 else "times"
    text = [f"not delivered yet, tried {event.attempts} {times}"]
    if event.last_error:
        text.append(" ".join(event.last_error.split()))
    if event.receivers_done:
        text.append(f"done: {', '.join(event.receivers_done)}")
    if event.leased_until is not None:
        text.append(f"leased to a process until {moment_text(event.leased_until)}")
    elif event.next_attempt_at is not None:
        text.append(f"tried next after {moment_text(event.next_attempt_at)}, or by flask paycheckout deliver --now")
    return "; ".join(text)


def _event_line(event: EventStory) -> str:
    if event.delivered_at is not None:
        delivery = f"delivered {moment_text(event.delivered_at)}"
    elif event.superseded_at is not None:
        delivery = f"superseded {moment_text(event.superseded_at)}: no longer true, so it is not delivered"
    else:
        delivery = _waiting_text(event)
    about = event.payout_reference or event.checkout_id
    return f"  {moment_text(event.occurred_at)}  {event.name} of {about}: {delivery}"
