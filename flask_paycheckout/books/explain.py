"""The explanation of one order: attempts, refunds, events, and the rule that decided; for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.decisions import ACCEPTING_EXCESS, ACCEPTING_PART, REJECTING, accepting
from flask_paycheckout.checkouts.payments import Payment
from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.states import best_of
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.history import lines
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.text import (
    PRUNED_EVENTS_TEXT,
    PRUNED_TEXT,
    account_text,
    moment_text,
    payout_sum_text,
    plain,
    visible,
)

Facts = Mapping[str, Any]
Texts = Mapping[str, str | Callable[[Facts], str]]
"""The wording of each kind of entry: a form that its facts fill, or a function of them."""

Story = TypeVar("Story")

_STATUS_TEXT = {
    "unpaid": "Nobody has started to pay this order. (Abandoned attempts may have been pruned.)",
    "created": "The customer was sent to the payment page and has not picked a payment method yet.",
    "pending": "The customer picked a payment method; the money is not here yet.",
    "part": "A part of what the order costs has arrived; the rest is left to pay.",
    "paid": "The order is paid: the payment was read from the service and agrees with the order's total.",
    "held": "Money arrived that needs your decision.",
    "abandoned": "No payment arrived. A late one would still be noticed.",
}

_REASON_TEXT = {
    "amount_mismatch": "the payment is not what was asked for",
    "duplicate": "another payment already paid this order; this money probably has to go back",
    "order_changed": "the order's total has changed since the customer was sent to pay",
    "order_not_payable": "the shop no longer wants a payment for this order (order_total returned None)",
    "excess": "more arrived than the order costs",
    "order_total_failed": "the shop could not say what the order costs now (order_total raised)",
}

_MOVE_TEXT = {
    "pending": "The customer picked a payment method; waiting for the money",
    "part": "A part is paid",
    "paid": "Paid",
    "held": "Money arrived and is held for a person to decide",
    "abandoned": "Given up",
    "rejected": "Rejected",
}

_RESOLVED_TEXT = {"paid": "accepted the held payment", "part": "accepted the held payment as a part"}

# The beginning of evidence that a person gives.
_PERSON = "a person"

_WHAT_TO_DO: dict[str, str] = {
    PayoutStatus.CLAIMABLE: "Waits for its receiver, who says where the money goes on the page of claim_url.",
    PayoutStatus.WAITING: "Waits for a person. Approve with: flask paycheckout payouts approve {0.reference}"
    " --seen {0.revision} --by YOU (over the daily limit: --over-limit)",
    PayoutStatus.FAILED: "FAILED. Try again with: flask paycheckout payouts retry {0.reference} --by YOU --why REASON",
    PayoutStatus.UNKNOWN: "UNKNOWN whether it was sent. Look at the service, then say:"
    " flask paycheckout payouts resolve {0.reference} --sent (or --not-sent) --by YOU --why REASON",
}


@dataclass(frozen=True)
class Happening:
    """One entry of the history of an attempt, or of a payout, with its wording for people."""

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
    """For money that paid no order, and an excess: `waiting` (nobody has decided yet), `refunded` (refunds cover it),
    `paid_back` or `kept`; None for all others, but for a part that is refunded or kept."""

    paid_back_amount: str | None
    """The sum that persons have recorded as paid back by hand; None while there is none."""

    problem: str | None
    """The error of the last read, or of applying its result; None when both succeeded."""

    problem_since: datetime | None
    """The time of the first such error since the last success."""

    happenings: tuple[Happening, ...]
    pruned_at: datetime | None
    """The time when `flask paycheckout prune` removed its earlier history and events; None while they are whole."""


@dataclass(frozen=True)
class PayoutStory:
    """One payout or refund of an order, with its whole history."""

    reference: str
    service_reference: str
    """The reference that the service is given."""

    kind: str
    """`payout` or `refund`."""

    status: str
    amount: Decimal
    currency: str
    destination: str | None
    """The destination with a masked account number; None until the customer has said it."""

    revision: int
    """The number of changes of the destination; an approval names the one that the person saw."""

    refund_of: str | None
    """The id of the checkout whose money a refund pays back."""

    note: str | None
    account: str
    disbursement_id: str | None
    """The service's id, known once it was sent."""

    created_at: datetime
    moved_at: datetime
    """The time when the state last changed."""

    next_attempt_at: datetime | None
    """The time of the next step: a send, a look-up or a read; None when nothing is planned."""

    problem: str | None
    """The last error; None after a success."""

    problem_since: datetime | None
    happenings: tuple[Happening, ...]
    """The history, oldest first."""

    pruned_at: datetime | None
    """The time when `flask paycheckout prune` removed its earlier history and events; None while they are whole."""

    fee: Decimal | None
    """The fee that the service reported, in `currency`; None until it did."""

    client_id: str | None
    """The client id of the keys that it was sent with."""

    id: int
    """The number by which people name a refund."""

    order_id: str | None
    counts: Decimal | None
    """The amount that a refund takes of the payment, in `counts_currency`; None for what is no refund."""

    counts_currency: str | None


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
class RequestStory:
    """The payment request that an order belongs to."""

    reference: str
    title: str
    """Empty once it is erased."""

    note: str | None
    account: str
    created_at: datetime
    expires_at: datetime | None
    """The time from which on it cannot be paid any more; None for no end."""

    withdrawn_at: datetime | None
    asked_by: str | None
    """The person who made it, where one was named."""

    total: str


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

    request: RequestStory | None
    """The payment request, where this is the order of one."""

    @property
    def meaning(self) -> str:
        """One sentence that says what the order's status means."""
        if self.status == "unpaid" and self.attempts:
            return "The order is not paid: each payment of it was rejected."
        if any(attempt.pays_order and attempt.reason not in (None, "excess") for attempt in self.attempts):
            return "The order is paid: a payment was held, and a person accepted it."
        return _STATUS_TEXT[self.status]

    @property
    def is_pruned(self) -> bool:
        """Whether `flask paycheckout prune` has removed a part of it."""
        stories: tuple[AttemptStory | PayoutStory, ...] = (*self.attempts, *self.payouts)
        return any(story.pruned_at is not None for story in stories)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        return dict(plain(asdict(self)))

    def __str__(self) -> str:
        text = [f"Order {self.order_id}: {self.status}. {self.meaning}"]
        if self.request is not None:
            text += _request_lines(self.request)
        for number, attempt in enumerate(self.attempts, start=1):
            text += ["", *_attempt_lines(number, attempt, order_is_paid=self.status == "paid")]
        for payout in self.payouts:
            text += ["", *_payout_lines(payout)]
        if self.events or self.is_pruned:
            text += ["", "Events:", *map(_event_line, self.events)]
        if self.is_pruned:
            text.append(f"  {PRUNED_EVENTS_TEXT}")
        return "\n".join(map(visible, text))


def explain(
    checkouts: Checkouts, payouts: Payouts, events: EventQueue, requests: PaymentRequests, order_id: str
) -> Explanation:
    """Explain an order from the stored rows alone; the service is not called."""
    attempts, request = checkouts.of_order(order_id), requests.of_an_order(order_id)
    return Explanation(
        order_id,
        best_of({attempt.status for attempt in attempts}),
        tuple(map(_attempt_story, attempts)),
        tuple(map(payout_story, payouts.of_order(order_id))),
        tuple(
            _story(EventStory, event, receivers_done=tuple(event.done), leased_until=event.lease_until)
            for event in events.of_order(order_id)
        ),
        None if request is None else _story(RequestStory, request, total=str(request.total)),
    )


def _request_lines(request: RequestStory) -> Iterator[str]:
    times = {"made": request.created_at, "to be paid before": request.expires_at, "withdrawn": request.withdrawn_at}
    told = [f"{what} {moment_text(at)}" for what, at in times.items() if at is not None]
    yield f"Request for {request.total}{account_text(request.account)}: {', '.join(told)}"
    yield f"  {request.title}{': ' if request.note else ''}{request.note or ''}"


def _story(made: type[Story], stored: Any, /, **others: Any) -> Story:
    """Copy the fields of a story from a stored object.

    :param others: the fields that are no attributes of it.
    """
    names = [part.name for part in fields(made) if part.name not in others]  # type: ignore[arg-type]
    return made(**{name: getattr(stored, name) for name in names}, **others)


def _attempt_story(attempt: CheckoutMixin) -> AttemptStory:
    pays_order = attempt.paid_order_id is not None
    waits = attempt.reason == "excess" or (attempt.status in ("paid", "rejected") and not pays_order)
    return _story(
        AttemptStory,
        attempt,
        total=total_text(attempt),
        pays_order=pays_order,
        payback=(attempt.payback or "waiting") if waits else attempt.payback if attempt.status == "part" else None,
        happenings=_happenings(attempt, _CHECKOUT_TEXT),
    )


def payout_story(payout: PayoutMixin) -> PayoutStory:
    """The story of a payout or refund, without its account number."""
    return _story(PayoutStory, payout, happenings=_happenings(payout, _PAYOUT_TEXT))


def total_text(attempt: CheckoutMixin) -> str:
    """The total that the customer was asked for, as text.

    When another program stored an invalid total, its raw columns are shown, so that the rest can still be read.
    """
    try:
        total, due = attempt.total, attempt.due
        return str(total) if due.amount == total.amount else f"{due} of {total}"
    except (ValueError, TypeError, ArithmeticError):
        return f"{attempt.total_amount} {attempt.total_currency} (no total)"


# Entries of histories


def _happenings(stored: Any, texts: Texts) -> tuple[Happening, ...]:
    """Each entry of a history for people; also those of a kind that this version does not know."""
    happenings = []
    for facts in lines(stored.history):
        what = facts.pop("what")
        at = as_utc(datetime.fromisoformat(facts.pop("at"))) if "at" in facts else stored.created_at
        try:
            form = texts[what]
            text = form.format(**facts) if isinstance(form, str) else form(facts)
        except KeyError:
            text = f"{what}: {json.dumps(facts)}"
        happenings.append(Happening(at, what, facts, text))
    return tuple(happenings)


def _moved_text(facts: Facts) -> str:
    reason = f" because {_REASON_TEXT.get(facts['reason'], facts['reason'])}" if "reason" in facts else ""
    # No deposit is read for an order whose total falls to what was paid.
    read = _if_any(". Deposit read ({via}): {deposit}", facts)
    return f"{_MOVE_TEXT[facts['to']]}{reason}{_if_any(': {error}', facts)}{read}; {facts['rule']}"


def _payout_moved_text(facts: Facts) -> str:
    rule, to = str(facts["rule"]), str(facts["to"]).capitalize()
    if rule.startswith(_PERSON) and "by" in facts:
        return f"{to}: {facts['by']}{rule.removeprefix(_PERSON)}{_if_any(': {why}', facts)}"
    return f"{to}: {rule}{_if_any(': {destination}', facts) or _answer_text(facts)}"


def _answer_text(facts: Facts) -> str:
    """The facts about a move that came from the service or the network."""
    return _if_any("; as {disbursement_id}", facts) + _if_any("; {problem}", facts)


def _if_any(form: str, facts: Facts) -> str:
    """A form filled with facts; empty where they are not all there."""
    try:
        return form.format(**facts)
    except KeyError:
        return ""


_CHECKOUT_TEXT: Texts = {
    "created": lambda facts: f"Checkout made for {facts['total']}{_if_any(', which replaces {replaces}', facts)}",
    "webhook": "Webhook received; it is only a hint to read the deposit",
    "read": "Deposit read ({via}): {deposit}; nothing to change",
    "no answer": "No reliable answer, so nothing changed: {error}",
    "not applied": "Deposit read, but its result could not be applied, and is tried again: {error}",
    "moved": _moved_text,
    "resolved": lambda facts: (
        f"{facts['by']} {_RESOLVED_TEXT.get(facts['to'], 'rejected the held payment')}: {facts['why']}"
    ),
    "payback": lambda facts: (
        f"{facts['by']} says that the money {'is kept' if facts['to'] == 'kept' else 'was paid back'}: {facts['why']}"
    ),
}

_PAYOUT_TEXT: Texts = {
    "created": lambda facts: (
        f"Made for {facts['total']}{_if_any(' in place of {counts}', facts)}{_if_any(' by {by}: {why}', facts)}"
    ),
    "moved": _payout_moved_text,
    "read": "Looked up: {result}",
    "no answer": "The call failed: {problem}",
    "not applied": lambda facts: (
        f"An answer that could not be stored, or came late: {facts['rule']}{_answer_text(facts)}"
    ),
}


# Text


def _attempt_lines(number: int, attempt: AttemptStory, *, order_is_paid: bool) -> Iterator[str]:
    reason = f" ({attempt.reason})" if attempt.reason else ""
    checkout = f"checkout {attempt.checkout_id}{account_text(attempt.account)}"
    yield f"Attempt {number}: {checkout}, {attempt.total}: {attempt.status}{reason}"
    if attempt.payment is not None:
        yield f"  Money: {attempt.payment}; seen as completed {moment_text(attempt.payment.completed_at)}"
    yield from _history_lines(attempt)
    if attempt.problem is not None and attempt.problem_since is not None:
        yield f"  NOT SETTLED since {moment_text(attempt.problem_since)}: {attempt.problem}"
    if attempt.next_read_at is not None:
        what = "The shop is asked again what the order costs" if attempt.status == "part" else "Read next by reconcile"
        yield f"  {what} after {moment_text(attempt.next_read_at)}"
    who = "--by YOU --why REASON"
    if attempt.status == "held":
        yield f"  Decide with: flask paycheckout resolve {attempt.checkout_id} --accept (or --reject) {who}"
        yield f"    --accept: {accepting(attempt.reason, order_is_paid=order_is_paid)}"
        yield f"    --accept --as-part, if less arrived than is due: {ACCEPTING_PART}"
        yield f"    --accept --refund-excess, if more arrived than is due: {ACCEPTING_EXCESS}"
        yield f"    --reject: {REJECTING}"
    if attempt.payback == "waiting":
        command = f"flask paycheckout payback {attempt.checkout_id}"
        done = "--kept" if attempt.reason == "excess" else "--done (or --kept)"
        yield f"  TO PAY BACK OR KEEP. When it is done: {command} {done} {who}"
        yield f"    Or refund it: flask paycheckout refund {attempt.checkout_id} {who}"


def _payout_lines(story: PayoutStory) -> Iterator[str]:
    of = f" of checkout {story.refund_of}" if story.refund_of is not None else ""
    about = f"{story.reference}{of}{account_text(story.account)}"
    fee = f", fee {story.fee:f}" if story.fee is not None else ""
    yield f"{story.kind.capitalize()} {about}, {payout_sum_text(story)}{fee}: {story.status}"
    yield f"  To: {story.destination or 'not said yet'}"
    if story.note:
        yield f"  Note: {story.note}"
    yield from _history_lines(story)
    if story.problem is not None:
        since = "" if story.problem_since is None else f" since {moment_text(story.problem_since)}"
        yield f"  PROBLEM{since}: {story.problem}"
    if story.next_attempt_at is not None:
        yield f"  Next step after {moment_text(story.next_attempt_at)}"
    if story.status in _WHAT_TO_DO:
        yield "  " + _WHAT_TO_DO[story.status].format(story)


def _history_lines(story: AttemptStory | PayoutStory) -> Iterator[str]:
    if story.pruned_at is not None:
        yield f"  {moment_text(story.pruned_at)}  {PRUNED_TEXT}"
    for happening in story.happenings:
        yield f"  {moment_text(happening.at)}  {happening.text}"
        yield from (f"{'':24}- {fact}" for fact in happening.facts.get("compared", []))


def _event_line(event: EventStory) -> str:
    if event.delivered_at is not None:
        delivery = f"delivered {moment_text(event.delivered_at)}"
    elif event.superseded_at is not None:
        delivery = f"superseded {moment_text(event.superseded_at)}: no longer true, so it is not delivered"
    else:
        delivery = _waiting_text(event)
    about = event.payout_reference or event.checkout_id
    return f"  {moment_text(event.occurred_at)}  {event.name} of {about}: {delivery}"


def _waiting_text(event: EventStory) -> str:
    text = [f"not delivered yet, tried {event.attempts} {'time' if event.attempts == 1 else 'times'}"]
    text += [" ".join(event.last_error.split())] if event.last_error else []
    text += [f"done: {', '.join(event.receivers_done)}"] if event.receivers_done else []
    if event.leased_until is not None:
        text.append(f"leased to a process until {moment_text(event.leased_until)}")
    elif event.next_attempt_at is not None:
        text.append(f"tried next after {moment_text(event.next_attempt_at)}, or by flask paycheckout deliver --now")
    return "; ".join(text)
