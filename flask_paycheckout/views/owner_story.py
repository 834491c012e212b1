"""An order's story for its owner: a few sentences, from its beginning until now. The history has the details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.explain import Explanation
from flask_paycheckout.books.happenings import Happening, happenings_of, person_text
from flask_paycheckout.books.lists import deeds_about
from flask_paycheckout.books.order_text import total_text
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.order_problems import ProblemKind
from flask_paycheckout.checkouts.payments import Payment
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import payout_sum_text
from flask_paycheckout.views.language import sum_in_sentence
from flask_paycheckout.views.owner_page import method_name, state_text

Told = tuple[datetime, str]

_REMINDERS = ("payment_reminder", "request_reminder")

_ENDS = {
    Status.HELD: "The payment is held until somebody decides",
    Status.REJECTED: "The payment was rejected",
    Status.ABANDONED: "Nothing arrived",
    Status.PENDING: "The customer chose how to pay; the money is on its way",
}


# The states of a checkout whose money is here.
_CAME = (Status.PAID, Status.PART, Status.HELD)


def story_of(story: Explanation, described: Described | None) -> list[Told]:
    """The sentences about an order with their times, oldest first."""
    customer = (described and described.customer) or "The customer"
    sentences = [line for attempt in story.attempts for line in _of_attempt(attempt, customer)]
    stopped = [problem for problem in story.problems if problem.kind == ProblemKind.UNAVAILABLE]
    sentences += [(problem.last_at, f"{customer} could not begin to pay") for problem in stopped]
    sentences += [line for payout in story.payouts for line in _of_payout(payout)]
    return sorted(sentences, key=itemgetter(0))


def _of_attempt(attempt: CheckoutMixin, customer: str) -> Iterator[Told]:
    yield attempt.created_at, f"{customer} began to pay {total_text(attempt, sum_in_sentence)}"
    if attempt.payment is not None and attempt.payment.completed_at is not None:
        yield attempt.payment.completed_at, arrived_text(attempt.payment)
    if attempt.taken_back is not None:
        came = next((each.at for each in happenings_of(attempt) if each.facts.get("to") in _CAME), attempt.moved_at)
        yield came, f"{attempt.taken_back} arrived"
        yield attempt.problem_since or attempt.moved_at, f"{attempt.taken_back} was taken back by the payments service"
    decisions = [each for each in happenings_of(attempt) if each.what in ("resolved", "payback")]
    yield from ((each.at, each.text) for each in decisions)
    if not decisions and attempt.status in _ENDS:
        yield attempt.moved_at, _ENDS[Status(attempt.status)]


def arrived_text(payment: Payment) -> str:
    """The sentence about money that arrived: sum, method and fee."""
    money = payment.paid
    paid = sum_in_sentence(money.amount, money.currency) if money else "An amount that is not known"
    method = method_name(payment.method)
    fee, share = payment.fee, ""
    if fee is not None and fee.amount is not None and fee.currency is not None:
        share = f"; the fee was {sum_in_sentence(fee.amount, fee.currency)}"
        if money and fee.currency == money.currency and money.amount:
            # The fee that was taken, which is more than the service's rate for small sums.
            share += f", {round(100 * fee.amount / money.amount, 1):f} % of it"
    return f"{paid} arrived{f' ({method})' if method else ''}{share}"


def story_of_payout(payout: PayoutMixin, steps: Iterable[Happening]) -> list[Told]:
    """The sentences about a payout with their times, oldest first: each of its states, or the person's decision."""
    sentences = [(payout.created_at, _asked_for(payout, payout.kind.capitalize()))]
    for step in steps:
        if step.what == "moved":
            sentences.append((step.at, person_text(step.facts) or state_text(step.facts["to"]).capitalize()))
    return sentences


def _of_payout(payout: PayoutMixin) -> Iterator[Told]:
    name = f"Refund no. {payout.id}" if payout.kind == PayoutKind.REFUND else f"Payout {payout.reference}"
    yield payout.created_at, _asked_for(payout, name)
    if payout.moved_at > payout.created_at:
        yield payout.moved_at, f"{name}: {state_text(payout.status)}"


def _asked_for(payout: PayoutMixin, name: str) -> str:
    requester = f", asked for by {payout.asked_by}" if payout.asked_by else ""
    why = f": {payout.note}" if payout.note else ""
    return f"{name} of {payout_sum_text(payout, sum_in_sentence)}{requester}{why}"


def reminders_told(events: Iterable[EventMixin], customer: str) -> Iterator[Told]:
    """The sentences about reminders, with their times; none about a reminder that no receiver of the shop has sent."""
    for event in events:
        if event.name not in _REMINDERS or event.superseded_at is not None:
            continue
        if event.delivered_at is not None and event.done:
            yield event.delivered_at, f"The shop reminded {customer} to pay"
        elif event.last_error and event.next_attempt_at is not None:
            yield event.occurred_at, f"A reminder for {customer} could not be sent yet, and is tried again"


def links_told(payouts: Sequence[PayoutMixin]) -> Iterator[Told]:
    """The sentences about who was shown the link to a receiver's claim page, with their times."""
    receivers = {each.reference: "customer" if each.refund_of else "receiver" for each in payouts}
    shop = runtime()
    for at, by, reference in deeds_about(shop.engine(), shop.models, "linked", [*receivers]):
        viewer = f"{by} was shown" if by else "The shop's program took"
        yield at, f"{viewer} the link on which the {receivers[reference]} says where the money goes"
