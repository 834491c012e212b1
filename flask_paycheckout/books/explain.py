"""The explanation of one order: attempts, refunds, events, and the rule that decided; for people and for programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flask_paycheckout.books.happenings import happenings_of
from flask_paycheckout.books.order_text import (
    STATUS_TEXT,
    attempt_lines,
    event_line,
    give_back_lines,
    held_lines,
    payout_lines,
    problem_line,
    request_lines,
    total_text,
)
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.decisions import Resolutions
from flask_paycheckout.checkouts.order_problems import OrderProblem, OrderProblems
from flask_paycheckout.checkouts.requests import PaymentRequests, RequestMixin
from flask_paycheckout.checkouts.states import Status, best_of
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.payouts.destinations import shown
from flask_paycheckout.payouts.paybacks import refunds_to_make, waits_for_payback
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_table import Payouts
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import PRUNED_EVENTS_TEXT, amount_text, plain, visible
from flask_paycheckout.wiring import Wiring

# The attributes of each record in the JSON output.
_OF_ATTEMPT = (
    *("checkout_id", "account", "status", "reason", "created_at", "deposit_status", "next_read_at", "webhooks"),
    *("reads", "found_by", "problem", "problem_since", "pruned_at"),
)
_OF_PAYOUT = (
    *("id", "reference", "service_reference", "kind", "status", "currency", "destination", "revision", "refund_of"),
    *("replaces", "replaced_by"),
    *("order_id", "counts_currency", "note", "account", "client_id", "disbursement_id", "created_at", "moved_at"),
    *("due_at", "problem", "problem_since", "pruned_at"),
)
_OF_EVENT = (
    *("event_id", "name", "checkout_id", "payout_reference", "occurred_at", "delivered_at", "superseded_at"),
    *("attempts", "last_error", "next_attempt_at"),
)
_OF_PROBLEM = ("kind", "account", "since", "last_at", "due", "error")
_OF_REQUEST = (
    *("reference", "order_id", "account", "title", "note", "created_at", "expires_at", "withdrawn_at", "asked_by"),
)


@dataclass(frozen=True)
class Explanation:
    """Every attempt, webhook, read and comparison of an order, the rule that decided, and its refunds and payouts.

    `str()` gives the text that `flask paycheckout show` prints.
    """

    order_id: str
    status: str
    """The order's status: the best one of its attempts, or `unpaid`."""

    attempts: tuple[CheckoutMixin, ...]
    """The attempts, oldest first."""

    payouts: tuple[PayoutMixin, ...]
    """The order's refunds and payouts, oldest first."""

    events: tuple[EventMixin, ...]
    """The order's events, oldest first."""

    request: RequestMixin | None
    """The payment request, if the order belongs to one."""

    problems: tuple[OrderProblem, ...]
    """The reasons why the order cannot or could not be paid: failing functions of the shop, a refusal, an outage."""

    ways: Mapping[str, Collection[str]]
    """The ways to accept each held checkout, by its id: `accept`, `part` and `excess`."""

    @property
    def meaning(self) -> str:
        """One sentence that says what the order's status means."""
        paying = next((attempt for attempt in self.attempts if attempt.paid_order_id is not None), None)
        if self.status == "unpaid" and self.attempts:
            return "The order is not paid: each payment of it was rejected."
        if self.status == "unpaid" and any(problem.stops_sale for problem in self.problems):
            return "A payment was tried, and could not be started."
        if paying is None:
            return STATUS_TEXT[self.status]
        if paying.taken_back is not None:
            return f"The order was paid, and {paying.taken_back} of it were taken back by the payments service."
        if paying.came_otherwise:
            return "The order was paid, and the payments service reports another amount since."
        if paying.reason not in (None, "excess"):
            return "The order is paid: a payment was held, and a person accepted it."
        if paying.reason == "excess" and paying.payback is None:
            return f"The order is paid, and {paying.excess} {paying.total_currency} more arrived than it costs."
        if paying.excess is not None:
            return "The order is paid: its payments were read from the service, and come to the order's total together."
        return STATUS_TEXT[self.status]

    @property
    def is_stored(self) -> bool:
        """Whether anything of the order is stored."""
        return bool(self.attempts or self.payouts or self.request or self.problems)

    @property
    def is_pruned(self) -> bool:
        """Whether `flask paycheckout prune` has removed a part of it."""
        rows: tuple[CheckoutMixin | PayoutMixin, ...] = (*self.attempts, *self.payouts)
        return any(row.pruned_at is not None for row in rows)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        facts = {
            "order_id": self.order_id,
            "status": self.status,
            "attempts": [_attempt_facts(attempt) for attempt in self.attempts],
            "payouts": [payout_facts(payout) for payout in self.payouts],
            "events": [_named(_OF_EVENT, event) | {"receivers_done": event.done} for event in self.events],
            "problems": [_named(_OF_PROBLEM, problem) for problem in self.problems],
            "request": self.request and request_facts(self.request) | {"total": str(self.request.total)},
        }
        return dict(plain(facts))

    def __str__(self) -> str:
        text = [f"Order {self.order_id}: {self.status}. {self.meaning}"]
        if self.request is not None:
            text += request_lines(self.request)
        text += map(problem_line, self.problems)
        for number, attempt in enumerate(self.attempts, start=1):
            text += ["", *attempt_lines(number, attempt)]
            if attempt.status == Status.HELD:
                ways = self.ways.get(attempt.checkout_id, ())
                text += held_lines(attempt, ways, order_is_paid=self.status == Status.PAID)
            if waits_for_payback(attempt):
                text += give_back_lines(attempt, refunds_to_make(attempt, self.attempts), self.payouts)
        taken_back = {attempt.checkout_id for attempt in self.attempts if attempt.taken_back}
        for payout in self.payouts:
            text += ["", *payout_lines(payout, stopped=payout.refund_of in taken_back)]
        if self.events or self.is_pruned:
            text += ["", "Events:", *map(event_line, self.events)]
        if self.is_pruned:
            text.append(f"  {PRUNED_EVENTS_TEXT}")
        return "\n".join(map(visible, text))


@dataclass(frozen=True)
class Explain:
    """Explains the orders of one app from the stored rows; the service is not called."""

    wiring: Wiring
    checkouts: Checkouts
    payouts: Payouts
    events: EventQueue
    requests: PaymentRequests
    problems: OrderProblems
    resolutions: Resolutions

    def __call__(self, order_id: str) -> Explanation:
        """Explain an order; errors as for `PayCheckout.explain`."""
        self.wiring.sessions.allow_reading(f"explain({order_id!r})")
        order_id = self.requests.require_order(order_id)
        attempts, choices = tuple(self.checkouts.of_order(order_id)), self.resolutions.choices
        story = Explanation(
            order_id,
            best_of({attempt.status for attempt in attempts}),
            attempts,
            tuple(self.payouts.of_order(order_id)),
            tuple(self.events.of_order(order_id)),
            self.requests.of_an_order(order_id),
            tuple(self.problems.of_order(order_id)),
            {attempt.checkout_id: choices(attempt) for attempt in attempts if attempt.status == Status.HELD},
        )
        return personal(story) if story.is_stored else story


def payout_facts(payout: PayoutMixin) -> dict[str, Any]:
    """The JSON facts of a payout or refund, without its account number."""
    amounts = {"amount": payout.exact_amount, "counts": payout.exact_counts, "fee": payout.exact_fee}
    texts = {name: None if stored is None else amount_text(stored) for name, stored in amounts.items()}
    destination = {"destination": shown(payout.destination)}
    return _named(_OF_PAYOUT, payout) | destination | texts | _history_of(payout)


def request_facts(request: RequestMixin) -> dict[str, Any]:
    """The JSON facts of a payment request."""
    return _named(_OF_REQUEST, request)


def _attempt_facts(attempt: CheckoutMixin) -> dict[str, Any]:
    payment = attempt.payment
    return {
        **_named(_OF_ATTEMPT, attempt),
        "total": total_text(attempt),
        "payment": payment and asdict(payment),
        "pays_order": attempt.paid_order_id is not None,
        "payback": "waiting" if waits_for_payback(attempt) else attempt.payback,
        **_history_of(attempt),
    }


def _named(names: Collection[str], row: object) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _history_of(row: CheckoutMixin | PayoutMixin) -> dict[str, Any]:
    return {"happenings": [asdict(happening) for happening in happenings_of(row)]}
