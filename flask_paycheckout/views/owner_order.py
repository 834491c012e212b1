"""The owner's page of one order, with its story, money and decisions; and the list of money to pay back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import itemgetter

from flask import abort
from werkzeug.wrappers import Response

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.explain import Explanation
from flask_paycheckout.books.happenings import happenings_of
from flask_paycheckout.books.order_money import money_of, refunded_of
from flask_paycheckout.books.order_text import problem_line, total_text
from flask_paycheckout.checkouts.decisions import HOW_TO_ACCEPT, REJECTING, accepting
from flask_paycheckout.checkouts.order_problems import OrderProblem, ProblemKind
from flask_paycheckout.checkouts.payments import sums_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.payouts.paybacks import refunds_to_make, waits_for_payback
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import is_order_id
from flask_paycheckout.views.language import sum_in_sentence, when
from flask_paycheckout.views.order_urls import status_url
from flask_paycheckout.views.owner_forms import (
    PAY_MAIL,
    choice_given,
    form,
    form_url,
    mail_with,
    money_text,
    require_money_seen,
    why_given,
)
from flask_paycheckout.views.owner_page import (
    Fault,
    Page,
    go_to,
    order_asked,
    owner,
    owner_page,
    person,
    require_ability,
)
from flask_paycheckout.views.owner_story import Told, arrived_text, links_told, reminders_told, story_of
from flask_paycheckout.views.receipt_text import ordered

_LISTED = 100
_UNPAID = (Status.CREATED, Status.ABANDONED, Status.PART)


def show_order() -> Page:
    """Explain one order, with a form for each payment that needs a person."""
    return _story(order_asked())


def _story(order_id: str, fault: Fault | None = None) -> Page:
    shop = runtime()
    story = shop.explain(order_id) if is_order_id(order_id) else None
    if story is None or not story.is_stored:
        abort(404, "No payment of such an order was ever started.")
    described = shop.customers.described([order_id]).get(order_id)
    stopped = next((each for each in story.problems if each.kind == ProblemKind.UNAVAILABLE), None)
    is_unpaid = stopped is not None or (bool(story.attempts) and story.status in _UNPAID)
    pay_link = status_url(order_id) if is_unpaid and story.request is None else None
    newest = story.attempts[-1] if story.attempts else stopped
    currency = story.attempts[-1].total_currency if story.attempts else None
    has_part = any(attempt.status == Status.PART for attempt in story.attempts)
    return owner_page(
        "order",
        fault,
        story=story,
        described=described,
        lines=list(ordered(described.lines if described else (), currency)),
        pay_link=pay_link,
        mail=pay_link and newest and mail_with(pay_link, order_id, newest.account, described, PAY_MAIL),
        happenings=sorted([*story_of(story, described), *_sent(story, described)], key=itemgetter(0)),
        problems=[(_problem_text(problem), problem_line(problem)) for problem in story.problems],
        money=money_of(story),
        accepting=accepting,
        rejecting=REJECTING,
        refunded_of=partial(refunded_of, story),
        balance=shop.part_payments.balance(order_id) if has_part else None,
        total_of=partial(total_text, show=sum_in_sentence),
        arrived=arrived_text,
        history_of=happenings_of,
        waits=waits_for_payback,
        refunds=lambda attempt: refunds_to_make(attempt, story.attempts),
        action=lambda endpoint, attempt: form_url(endpoint, attempt.checkout_id, seen=money_text(attempt)),
        let_go_url=stopped and form_url("let_go", order_id),
        erase_url=form_url("erase", order_id),
    )


def _problem_text(problem: OrderProblem) -> str:
    """The reason why an order cannot be paid, in the owner's words."""
    if problem.kind != ProblemKind.UNAVAILABLE:
        return "Customers cannot pay this order online at the moment."
    return f"The customer could not pay, the last time {when(problem.last_at)}: the payments service could not be used."


def _sent(story: Explanation, described: Described | None) -> Iterator[Told]:
    yield from reminders_told(story.events, (described and described.customer) or "the customer")
    yield from links_told(story.payouts)


def _story_of(checkout_id: str, fault: Fault) -> Page:
    return _story(runtime().checkouts.require(checkout_id).order_id, fault)


def list_paybacks() -> Page:
    """List money that paid no order, until a person records that it is paid back or kept."""
    shop = runtime()
    count, listed = shop.paybacks.listed(_LISTED)
    order_ids = [money.checkout.order_id for money in listed]
    return owner_page(
        "paybacks",
        count=count,
        listed=listed,
        orders=shop.customers.described(order_ids),
        titles=shop.requests.titles(order_ids),
        sums=sums_of(money.left for money in listed),
    )


@form(_story_of)
def resolve(checkout_id: str) -> Response:
    """Record a decision on a held payment, with name and reason."""
    decision, why = choice_given("decision", (*HOW_TO_ACCEPT, "reject")), why_given()
    part, excess = HOW_TO_ACCEPT.get(decision, (False, False))
    if excess:
        require_ability(person(), "refund")
    require_money_seen(checkout_id)
    resolutions, accepts = runtime().resolutions, decision in HOW_TO_ACCEPT
    decided = resolutions.resolve(checkout_id, accepts, owner(), why, as_part=part, refund_excess=excess)
    if excess:
        refund = runtime().payouts.of_checkout(checkout_id)[-1]
        return go_to("payout", reference=refund.reference, done="excess")
    notice = "part" if part else "accepted" if accepts else "rejected"
    return go_to("order", order_id=decided.order_id, done=notice)


@form(_story_of)
def keep(checkout_id: str) -> Response:
    """Record that money is kept, with name and reason."""
    why = why_given()
    require_money_seen(checkout_id)
    checkout = runtime().paybacks.keep(checkout_id, owner(), why)
    return go_to("order", order_id=checkout.order_id, done="kept" if checkout.taken_back is None else "dealt_with")


@form(_story)
def let_go(order_id: str) -> Response:
    """Record that nothing is left to do about a customer who could not pay, with name and reason."""
    runtime().order_problems.settle(order_id, owner(), why_given())
    # The order may no longer have a page.
    return go_to("overview", done="dealt_with")


@form(_story)
def erase(order_id: str) -> Response:
    """Erase the personal data of an order, with name and reason; the page names the data that must stay for now."""
    erased = runtime().erasing.erase(order_id, None, owner(), why_given())
    if erased.kept:
        remaining = "; ".join(f"{subject}: {reason}" for subject, reason in erased.kept.items())
        raise Fault(f"Erased, but for what must stay for now. Erase it again later. {remaining}.", 409)
    return go_to("order", order_id=order_id, done="erased")
