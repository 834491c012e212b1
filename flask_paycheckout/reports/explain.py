"""Why things are as they are: the story of an order, for people and for programs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.decisions import accepting, rejecting
from flask_paycheckout.rules.states import best_of
from flask_paycheckout.rules.text import moment_text, plain, visible
from flask_paycheckout.store.checkouts import Attempts
from flask_paycheckout.store.history import lines
from flask_paycheckout.store.models import CheckoutMixin, EventMixin, Models
from flask_paycheckout.store.payments import Payment

__all__ = ["AttemptStory", "EventStory", "Explanation", "Happening", "explain", "total_text"]

_STATUS_WORDS = {
    "unpaid": "Nobody has started to pay this order.",
    "created": "The customer was sent to the payment page and has not picked a payment method yet.",
    "pending": "The customer picked a payment method; the money is not here yet.",
    "paid": "The order is paid: the payment was read from the service and agrees with what the order costs.",
    "held": "Money arrived that needs your decision.",
    "abandoned": "No payment came. A late one would still be noticed.",
}

_REASON_WORDS = {
    "amount_mismatch": "the payment is not what was asked for",
    "duplicate": "another payment already paid this order; this money probably has to go back",
    "order_changed": "the order costs something else now than when the customer was sent to pay",
    "order_not_payable": "the shop no longer wants a payment for this order (order_total returned None)",
    "order_total_failed": "the shop could not say what the order costs by now (order_total raised)",
}

_MOVE_WORDS = {
    "pending": "The customer picked a payment method; waiting for the money",
    "paid": "Paid",
    "held": "Money arrived and is held for a person to decide",
    "abandoned": "Given up",
    "rejected": "Rejected",
}


@dataclass(frozen=True)
class Happening:
    """One line of an attempt's story."""

    at: datetime
    #: created, webhook, read, no answer, moved, resolved or payback.
    what: str
    facts: dict[str, Any]
    text: str


@dataclass(frozen=True)
class AttemptStory:
    """One attempt at paying, with everything that was seen of it.

    :ivar payment: what the deposit said of the money that arrived; None before.
    :ivar pays_order: this is the payment that the order was paid with.
    :ivar problem: why the deposit could not be read, or what it says not be applied, the last time; None when it could.
    :ivar problem_since: since when that has been so.
    :ivar payback: what became of money that paid no order: `waiting` for a person to say, `paid_back` or `kept`; None
        for other attempts.
    """

    checkout_id: str
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
    pays_order: bool
    payback: str | None
    problem: str | None
    problem_since: datetime | None
    happenings: tuple[Happening, ...]

    @property
    def decision(self) -> Happening | None:
        """How a person decided this payment while it was held; None when nobody had to."""
        decisions = [happening for happening in self.happenings if happening.what == "resolved"]
        return decisions[-1] if decisions else None


@dataclass(frozen=True)
class EventStory:
    """One signal, and whether its receivers have run."""

    event_id: str
    name: str
    checkout_id: str
    occurred_at: datetime
    delivered_at: datetime | None
    #: When it was found to be no longer true; receivers that had not run by then never hear of it.
    superseded_at: datetime | None
    attempts: int
    last_error: str | None
    #: The receivers that ran.
    receivers_done: tuple[str, ...]
    #: When delivery is tried next; None once delivered or superseded.
    next_attempt_at: datetime | None
    #: A process delivers it now, or died over it; nobody else does before this time.
    leased_until: datetime | None


@dataclass(frozen=True)
class Explanation:
    """Every attempt, webhook, read and comparison of an order, and the rule that decided. `str()` tells it.

    :ivar status: the best of the attempts' states; `unpaid` without any.
    :ivar attempts: oldest first, each with what was seen of it, in the order of time.
    :ivar events: the signals, and whether their receivers have run.
    """

    order_id: str
    status: str
    attempts: tuple[AttemptStory, ...]
    events: tuple[EventStory, ...]

    @property
    def meaning(self) -> str:
        """What the status means, in a sentence."""
        if self.status == "unpaid" and self.attempts:
            return "The order is not paid: each payment of it was rejected."
        decision = next((attempt.decision for attempt in self.attempts if attempt.pays_order), None)
        if self.status == "paid" and decision is not None:
            return f"The order is paid: a payment was held, and {_decided(decision.facts)}."
        return _STATUS_WORDS[self.status]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values; moments as ISO 8601 text."""
        return {name: plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        text = [f"Order {self.order_id}: {self.status}. {self.meaning}"]
        for number, attempt in enumerate(self.attempts, start=1):
            text += ["", *_attempt_lines(number, attempt, order_is_paid=self.status == "paid")]
        if self.events:
            text += ["", "Told to the shop:", *(_event_line(event) for event in self.events)]
        return "\n".join(map(visible, text))


def explain(engine: Engine, models: Models, attempts: Attempts, order_id: str) -> Explanation:
    """The story of an order, from what is stored; nothing is read from the service."""
    stored = attempts.of_order(order_id)
    with Session(engine) as session:
        model = models.Event
        events = session.scalars(select(model).where(model.order_id == order_id).order_by(model.id)).all()
        stories = tuple(_event_story(event) for event in events)
    return Explanation(
        order_id, best_of({attempt.status for attempt in stored}), tuple(_attempt_story(a) for a in stored), stories
    )


def _attempt_story(attempt: CheckoutMixin) -> AttemptStory:
    return AttemptStory(
        attempt.checkout_id,
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
    )


def _payback(attempt: CheckoutMixin) -> str | None:
    if attempt.status not in ("paid", "rejected") or attempt.paid_order_id is not None:
        return None
    return attempt.payback or "waiting"


def total_text(attempt: CheckoutMixin) -> str:
    """What was asked for; where another program wrote what no total can be, that, so that it hides nothing else."""
    try:
        return str(attempt.total)
    except (ValueError, TypeError, ArithmeticError):
        return f"{attempt.total_amount} {attempt.total_currency} (no total)"


def _event_story(event: EventMixin) -> EventStory:
    return EventStory(
        event.event_id,
        event.name,
        event.checkout_id,
        event.occurred_at,
        event.delivered_at,
        event.superseded_at,
        event.attempts,
        event.last_error,
        tuple(event.done),
        event.next_attempt_at,
        event.lease_until,
    )


def _happening(entry: dict[str, Any], otherwise: datetime) -> Happening:
    """One line of the story, also when a newer version, or another program, wrote it.

    :param otherwise: its time when it has none.
    """
    facts = {name: value for name, value in entry.items() if name not in ("at", "what")}
    if not isinstance(facts.get("compared", []), list):
        facts["compared"] = [facts["compared"]]
    what = str(entry["what"])
    try:
        told = _TELL[what](facts)
    except KeyError:
        told = f"{what}: {json.dumps(facts)}"
    at = as_utc(datetime.fromisoformat(entry["at"])) if "at" in entry else otherwise
    return Happening(at, what, facts, told)


def _tell_created(facts: dict[str, Any]) -> str:
    replaced = f", in the place of {facts['replaces']}" if "replaces" in facts else ""
    return f"Checkout made for {facts['total']}{replaced}"


def _tell_webhook(facts: dict[str, Any]) -> str:
    return "Webhook received; it is only a hint to read the deposit"


def _tell_read(facts: dict[str, Any]) -> str:
    return f"Deposit read ({facts['via']}): {facts['deposit']}; nothing to change"


def _tell_no_answer(facts: dict[str, Any]) -> str:
    return f"No answer to rely on, so nothing changed: {facts['error']}"


def _tell_not_applied(facts: dict[str, Any]) -> str:
    return f"Deposit read, but what it says could not be applied, and is tried again: {facts['error']}"


def _tell_moved(facts: dict[str, Any]) -> str:
    reason = f" because {_REASON_WORDS.get(facts['reason'], facts['reason'])}" if "reason" in facts else ""
    return f"{_MOVE_WORDS[facts['to']]}{reason}. Deposit read ({facts['via']}): {facts['deposit']}; {facts['rule']}"


def _tell_resolved(facts: dict[str, Any]) -> str:
    word = "accepted" if facts["to"] == "paid" else "rejected"
    return f"{facts['by']} {word} the held payment: {facts['why']}"


def _decided(facts: dict[str, Any]) -> str:
    return f"{facts.get('by')} accepted it: {facts.get('why')}"


def _tell_payback(facts: dict[str, Any]) -> str:
    told = "says that the money is kept" if facts["to"] == "kept" else "says that the money was paid back"
    return f"{facts['by']} {told}: {facts['why']}"


_TELL = {
    "created": _tell_created,
    "webhook": _tell_webhook,
    "read": _tell_read,
    "no answer": _tell_no_answer,
    "not applied": _tell_not_applied,
    "moved": _tell_moved,
    "resolved": _tell_resolved,
    "payback": _tell_payback,
}


def _attempt_lines(number: int, attempt: AttemptStory, *, order_is_paid: bool) -> list[str]:
    reason = f" ({attempt.reason})" if attempt.reason else ""
    text = [f"Attempt {number}: checkout {attempt.checkout_id}, {attempt.total}: {attempt.status}{reason}"]
    if attempt.payment is not None:
        seen = moment_text(attempt.payment.completed_at)
        text.append(f"  Money: {attempt.payment}; seen as completed {seen}")
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
        told = f"delivered {moment_text(event.delivered_at)}"
    elif event.superseded_at is not None:
        told = f"superseded {moment_text(event.superseded_at)}: no longer true, so nobody is told of it any more"
    else:
        told = _waiting_text(event)
    return f"  {moment_text(event.occurred_at)}  {event.name} of {event.checkout_id}: {told}"
