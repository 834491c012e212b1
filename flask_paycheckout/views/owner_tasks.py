"""The tasks on the owner's pages: alarms in an owner's words, each with a button to the page that deals with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from flask import request, url_for

from flask_paycheckout.books.alarms import Alarm, Example, Severity, number
from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import moment_text, visible
from flask_paycheckout.views.language import sum_in_sentence, when
from flask_paycheckout.views.owner_page import owner, person

# Alarms that a person can deal with, most urgent first: the required ability, the words of the button, and the page.
_DECISIONS = {
    "reversed-payments": ("decide", "See what to do", "order"),
    "held-payments": ("decide", "Decide", "order"),
    "payouts-to-approve": ("approve", "Look and approve", "payout"),
    "unknown-payouts": ("approve", "Say what became of it", "payout"),
    "failed-payouts": ("approve", "Try again or give up", "payout"),
    "money-to-pay-back": ("decide", "Give back or keep", "order"),
    "excess-payments": ("decide", "Give back or keep", "order"),
    "unfinished-parts": ("decide", "Remind, refund or keep", "order"),
    "refused-amounts": ("look", "See the order", "order"),
    "stopped-refunds": ("approve", "See it", "payout"),
    "unclaimed-refunds": ("refund", "Send the link", "payout"),
    "slow-transfers": ("look", "See it", "payout"),
    "repeated-transfers": ("look", "Compare", "payout"),
    "differing-months": ("look", "Compare", ""),
}
# The words for one and for several; a number stands before them.
_WORDS = {
    "reversed-payments": (
        "payment that had arrived was taken back or changed: ship nothing for it",
        "payments that had arrived were taken back or changed: ship nothing for them",
    ),
    "held-payments": ("payment waits for a decision", "payments wait for a decision"),
    "payouts-to-approve": ("refund or payout waits for an approval", "refunds or payouts wait for an approval"),
    "unknown-payouts": (
        "transfer of which nobody knows whether it went out",
        "transfers of which nobody knows whether they went out",
    ),
    "failed-payouts": ("refund or payout did not arrive", "refunds or payouts did not arrive"),
    "money-to-pay-back": ("payment paid no order", "payments paid no order"),
    "excess-payments": ("order was paid with too much", "orders were paid with too much"),
    "unfinished-parts": ("order waits for the rest of its money", "orders wait for the rest of their money"),
    "refused-amounts": ("order cannot be paid online", "orders cannot be paid online"),
    "unclaimed-refunds": (
        "receiver has not said yet where the money goes",
        "receivers have not said yet where their money goes",
    ),
    "repeated-transfers": (
        "payout may have been paid twice: compare its transfers",
        "payouts may have been paid twice: compare their transfers",
    ),
    "slow-transfers": ("bank transfer is without news for a week", "bank transfers are without news for a week"),
    "differing-months": (
        "line of a closed month differs from the payments service",
        "lines of a closed month differ from the payments service",
    ),
    "unsettled-payments": ("payment arrived and could not be recorded", "payments arrived and could not be recorded"),
    "unexplained-payments": ("payment needs a look by a developer", "payments need a look by a developer"),
    "unread-payments": (
        "payment could not be looked up; it is tried again",
        "payments could not be looked up; they are tried again",
    ),
    "undelivered-events": (
        "notice about a payment did not reach a part of the shop, such as its mails",
        "notices about payments did not reach a part of the shop, such as its mails",
    ),
    "unsent-payouts": ("refund or payout is ready and was not sent", "refunds or payouts are ready and were not sent"),
    "payouts-without-access-token": (
        "refund or payout is ready, and the shop is not allowed to send it yet",
        "refunds or payouts are ready, and the shop is not allowed to send them yet",
    ),
    "stopped-refunds": (
        "refund is not sent, because its payment was taken back",
        "refunds are not sent, because their payments were taken back",
    ),
    "payouts-not-followed": (
        "transfer was sent, and there is no news of it",
        "transfers were sent, and there is no news of them",
    ),
}
# Alarms whose text names no number.
_TROUBLES = {
    "read-only-database": "The shop cannot record payments at the moment. Money that arrives is not lost",
    "failing-service": "The payments service does not answer, so customers cannot pay, or refunds wait",
    "refused-keys": "The payments service does not accept the shop's keys: payments stand still until they are renewed",
    "refused-tokens": "The payments service does not let the shop send money: refunds and payouts wait",
    "refused-starts": "Customers cannot pay: the shop stops each payment before it begins",
    "refused-customers": "Customers were turned away because too many paid at the same time",
    "refused-orders": "Nobody can pay: the payments service refuses each order",
    "failing-descriptions": "A part of the shop fails, so that pages show no customers' names, or do not find them",
    "failing-functions": "A part of the shop fails, so that orders cannot be paid, or pages not be seen",
    "silent-webhooks": "Payments are noticed some minutes late: the payments service does not tell the shop of them",
    "unheard-events": "Paid orders are not closed: nothing in the shop takes notice of payments",
    "late-reads": "Payments are noticed too late: the program that looks for them does not run beside the shop",
    "copied-shop": "Refunds, payouts and reminders are not sent: another copy of the shop uses the same database",
    "owner-not-told": "Mails about troubles are not sent",
}
# The end of a line about one thing, if it differs from the words for one.
_MORE = {
    "reversed-payments": " had arrived and was taken back: ship nothing for it",
    "held-payments": "",
    "money-to-pay-back": "",
    "failed-payouts": " failed: it did not arrive",
    "unclaimed-refunds": ": the receiver has not said yet where it goes",
}
_BARRED = "for somebody else, since you asked for it, or have seen its link"
_POSTPONED = "over the limit of today, so it is sent tomorrow, or today if somebody approves that"
_LISTED = 3
_EXAMPLES = 10


_ALARMS, _BARRED_ONES = "flask_paycheckout.alarms", "flask_paycheckout.barred"


def alarms_of_page(account: str | None = None) -> tuple[Alarm, ...]:
    """The alarms of one merchant account, or of every account, most urgent first."""
    alarms: dict[str | None, tuple[Alarm, ...]] = request.environ.setdefault(_ALARMS, {})
    if account not in alarms:
        alarms[account] = find_alarms(replace(runtime().alarm_context(account), show=sum_in_sentence))
    return alarms[account]


def number_waiting() -> int:
    """The number of decisions and troubles, for the navigation of each page.

    Approvals that only other persons may give do not count.
    """
    account = next(iter(request.environ.get(_ALARMS, {})), None)
    return sum(
        (alarm.count if alarm.page else 1) - len(for_others(alarm))
        for alarm in alarms_of_page(account)
        if alarm.severity is not Severity.NOTE
    )


def for_others(alarm: Alarm) -> set[str]:
    """The references of payouts that wait for an approval that this person may not give."""
    if alarm.kind != "payouts-to-approve":
        return set()
    barred: dict[str, set[str]] = request.environ.setdefault(_BARRED_ONES, {})
    if alarm.key not in barred:
        references = [each.reference for each in alarm.examples if each.reference]
        barred[alarm.key] = runtime().payout_decisions.barred(references, owner())
    return barred[alarm.key]


@dataclass(frozen=True)
class Task:
    """One line in the list of tasks."""

    text: str
    severity: Severity
    url: str | None = None
    button: str = ""
    """The words of the button; empty if this person can do nothing about it."""

    developer: str = ""
    """The text for a developer; empty for a decision."""

    orders: Sequence[tuple[str, str]] = ()
    """The orders whose customers could not pay because of it, each with the address of its page."""

    more: int = 0
    """How many more such orders there are."""


def tasks_of(alarms: Sequence[Alarm], orders: Mapping[str, Described]) -> list[Task]:
    """The lines about alarms, most urgent first.

    :param orders: the shop's descriptions of the orders that the alarms name.
    """
    kinds = list(_DECISIONS)
    ordered = sorted(alarms, key=lambda alarm: (alarm.severity.rank, *map(kinds.index, {alarm.kind} & {*kinds})))
    return [task for alarm in ordered for task in _tasks(alarm, orders)]


def orders_of(alarms: Sequence[Alarm]) -> list[str]:
    """The orders that the lines about alarms name."""
    examples = (each for alarm in alarms for each in [*_named(alarm), *_stopped(alarm)])
    return [each.order_id for each in examples if each.order_id]


def _stopped(alarm: Alarm) -> Sequence[Example]:
    """The orders whose customers could not pay because of what this alarm reports."""
    return [each for each in alarm.examples if each.order_id] if alarm.customers else ()


def _named(alarm: Alarm) -> Sequence[Example]:
    """The examples of an alarm that get separate lines, because they are few or no page lists them."""
    return alarm.examples if alarm.kind in _DECISIONS and (alarm.count <= _LISTED or not alarm.page) else ()


def _tasks(alarm: Alarm, orders: Mapping[str, Described]) -> Iterator[Task]:
    ability, words, page = _DECISIONS.get(alarm.kind, ("look", "", ""))
    examples = _named(alarm)
    if examples and page and ability in person().may:
        yield from (_task(alarm, example, words, page, orders) for example in examples)
        return
    developer = "" if alarm.kind in _DECISIONS else "\n".join(map(visible, _for_developer(alarm)))
    url = words = ""
    if alarm.page:
        url = url_for(f".{alarm.page.endpoint}", status=alarm.page.status, account=alarm.account or None)
        words = "Show"
    others = len(for_others(alarm))
    if others < alarm.count:
        stopped = [
            (with_customer(each.name, each.order_id, orders), url_for(".order", order_id=each.order_id))
            for each in _stopped(alarm)
        ]
        text, more = _text(alarm, alarm.count - others), alarm.customers - len(stopped)
        # These customers may not try again by themselves, so the shop should write to them today.
        severity = Severity.TODAY if stopped and alarm.severity is Severity.NOTE else alarm.severity
        yield Task(text, severity, url or None, words, developer, stopped, more)
    if others:
        yield Task(f"{_text(alarm, others).removesuffix('.')}: {_BARRED}.", Severity.NOTE, url or None, words)


def _for_developer(alarm: Alarm) -> Iterator[str]:
    """The lines of `report` about an alarm."""
    yield f"{alarm.what} ({alarm.key}, since {moment_text(alarm.since)})"
    for example in alarm.examples[:_EXAMPLES]:
        # An event's error may contain text of the shop's receivers, such as a customer's address.
        yield f"  {example.text if alarm.kind.endswith('-events') else example}"
    yield from alarm.remedies


def _text(alarm: Alarm, count: int) -> str:
    customers = number(alarm.customers, "customer", "customers")
    stopped = f" {customers} could not pay:" if alarm.customers else ""
    if alarm.kind == "failing-service" and alarm.severity is Severity.NOTE:
        return f"The payments service did not answer the last time, and nobody has tried since.{stopped}"
    if alarm.kind == "failed-starts":
        return f"{customers} could not pay {_span(alarm.since, alarm.until or alarm.since)}. Send them the link again:"
    if alarm.kind in _TROUBLES:
        return f"{_TROUBLES[alarm.kind]}.{stopped}"
    singular, plural = _WORDS.get(alarm.kind, ("trouble that a developer has to look at",) * 2)
    return f"{count} {singular if count == 1 else plural}."


def _span(first: datetime, last: datetime) -> str:
    """The time between two moments, in everyday words."""
    began, ended = when(first), when(last)
    (day, _, _), (end_day, _, until) = began.partition(", "), ended.partition(", ")
    if began == ended:
        return f"({began})"
    return f"between {began} and {until if day == end_day and until else ended}"


def _task(alarm: Alarm, example: Example, words: str, page: str, orders: Mapping[str, Described]) -> Task:
    text = with_customer(example.name or example.text, example.order_id, orders)
    if page == "payout" and example.reference:
        url = url_for(".payout", reference=example.reference)
        if example.reference in for_others(alarm):
            return Task(f"{text}: waits {_BARRED}", Severity.NOTE, url, "See it")
        if example.is_postponed:
            return Task(f"{text}: {_POSTPONED}", alarm.severity, url, words)
    else:
        url = url_for(".order", order_id=example.order_id, _anchor=example.checkout_id or None)
    singular, _ = _WORDS[alarm.kind]
    ending = _MORE.get(alarm.kind, f": {singular}")
    return Task(f"{text}{ending}", alarm.severity, url, words)


def with_customer(text: str, order_id: str | None, orders: Mapping[str, Described]) -> str:
    """A text about an order, with its customer's name after its number."""
    described = orders.get(order_id or "")
    if described is None or not described.customer or not order_id:
        return text
    before, number, after = text.partition(f"rder {order_id}")
    return f"{before}{number}, {described.customer}{after}" if number else f"{text}, {described.customer}"
