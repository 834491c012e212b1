"""The report on all payments of the shop: counts by state, and everything that needs a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, func, select

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.states import OPEN, Status
from flask_paycheckout.rules.text import moment_text, plain, visible
from flask_paycheckout.service.record import START, FailingCalls, failing_calls
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.paybacks import MoneyToPayBack, count_to_pay_back, list_to_pay_back, sums_of
from flask_paycheckout.store.payments import PAYMENT_COLUMNS, Amount, payment_of

__all__ = [
    "Alarms",
    "Backlog",
    "HeldPayment",
    "Report",
    "UndeliveredEvent",
    "UnheardPayment",
    "Unreadable",
    "UnsettledPayment",
    "operation_text",
    "read_alarms",
    "read_backlog",
    "report",
]

# The most entries of each list; counts cover all rows.
_LISTED = 100
_RECENT = 1000
# With so many paid orders in a row without a webhook, webhooks do not arrive at all.
_SILENT = 5
# In a healthy shop webhooks, reconcile rounds and second deliveries have happened by then.
_PATIENCE = timedelta(minutes=5)
# The most different problems that are listed.
_GROUPS = 10
_COMPLETED = "completed"
_DOCTOR = "  What is wrong, and what to do: flask paycheckout doctor"


@dataclass(frozen=True)
class HeldPayment:
    """A held payment, which waits for a person's decision."""

    checkout_id: str
    order_id: str
    reason: str | None
    since: datetime
    asked: str
    """The total that the customer was asked for."""

    paid: Amount | None
    """The amount that the customer paid; None when the service did not report it, or it is not stored."""


@dataclass(frozen=True)
class UndeliveredEvent:
    """An event that has not reached all of its receivers."""

    event_id: str
    name: str
    checkout_id: str
    order_id: str
    occurred_at: datetime
    attempts: int
    last_error: str | None


@dataclass(frozen=True)
class UnheardPayment:
    """A payment that was found without a webhook."""

    checkout_id: str
    order_id: str
    paid_at: datetime
    found_by: str | None
    """The caller whose read found the payment: status page, reconcile or settle."""


@dataclass(frozen=True)
class Backlog:
    """Reads that have been due for more than five minutes: reconcile does not run, or does not keep up."""

    overdue: int
    since: datetime | None


@dataclass(frozen=True)
class UnsettledPayment:
    """A payment that is completed at the service, but neither paid nor held here, since applying it failed."""

    checkout_id: str
    order_id: str
    since: datetime
    problem: str
    """The error; for a failed receiver it includes the receiver's name."""


@dataclass(frozen=True)
class Unreadable:
    """Checkouts that have failed for more than five minutes with one common error, in the read or in applying it."""

    count: int
    since: datetime
    """The time of the first of these failures."""

    problem: str
    """The error that all of these have in common."""


@dataclass(frozen=True)
class Alarms:
    """The parts of a report that need a person, cheap enough for a page that is opened often."""

    held: int
    """The number of payments that wait for a decision."""

    to_pay_back: int
    """The number of payments that paid no order, and were not yet recorded as paid back or kept."""

    stuck: tuple[UndeliveredEvent, ...]
    """Events with a failed receiver, or undelivered for more than five minutes; 100 at most."""

    webhooks_silent: bool
    """Whether none of the last five paid orders (or of fewer, when there are fewer) had a webhook."""

    backlog: Backlog
    unsettled: tuple[UnsettledPayment, ...] = ()
    """Completed payments that could not be applied; 100 at most."""

    unreadable: tuple[Unreadable, ...] = ()
    """Checkouts that cannot be read or settled, grouped by error, the oldest group first; 10 at most."""

    failing: tuple[FailingCalls, ...] = ()
    """Calls that the service has failed to answer, or has refused, for more than five minutes."""


@dataclass(frozen=True)
class Report:
    """The state of all payments at one moment; `str()` adds the remedy to whatever needs a person.

    `held`, `to_pay_back`, `undelivered` and `unheard` list at most 100 entries each; the counts cover all.
    """

    at: datetime
    checkouts: dict[str, int]
    """The number of checkouts in each state, zeros included."""

    held: tuple[HeldPayment, ...]
    to_pay_back_count: int
    to_pay_back: tuple[MoneyToPayBack, ...]
    """Rejected payments, and accepted second ones, that were not yet recorded as paid back or kept."""

    undelivered_count: int
    undelivered: tuple[UndeliveredEvent, ...]
    """Events with a failed receiver first, then the oldest."""

    recently_paid: int
    """The number of paid checkouts that `unheard` looks at: the newest 1,000, paid more than five minutes ago."""

    unheard_count: int
    unheard: tuple[UnheardPayment, ...]
    webhooks_silent: bool
    """Whether none of the last five paid orders (or of fewer, when there are fewer) had a webhook."""

    backlog: Backlog
    unsettled: tuple[UnsettledPayment, ...]
    """Completed payments that could not be applied, oldest first; 100 at most."""

    unreadable: tuple[Unreadable, ...]
    """Checkouts that cannot be read or settled, grouped by error, the oldest group first; 10 at most."""

    failing: tuple[FailingCalls, ...]
    """Calls that the service has failed to answer, or has refused, for more than five minutes."""

    webhook_url: str
    """The address to register in the service's dashboard."""

    @property
    def stuck(self) -> tuple[UndeliveredEvent, ...]:
        """The listed events with a failed receiver, or undelivered for more than five minutes."""
        return _stuck(self.undelivered, self.at)

    @property
    def needs_a_person(self) -> bool:
        """Whether anything in this report does not resolve itself."""
        troubles = (self.held, self.to_pay_back, self.stuck, self.webhooks_silent, self.backlog.overdue)
        return any(troubles) or bool(self.unsettled or self.unreadable or self.failing)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        values: dict[str, Any] = plain(asdict(self))
        return values | {"needs_a_person": self.needs_a_person}

    def __str__(self) -> str:
        troubles = (_held_lines, _payback_lines, _unsettled_lines, _undelivered_lines, _webhook_lines)
        sections = (_count_lines, *troubles, _failing_lines, _unreadable_lines, _backlog_lines)
        return "\n".join(visible(line) for section in sections for line in section(self))


def report(engine: Engine, models: Models, now: datetime, webhook_url: str) -> Report:
    """Report on all payments, from the stored rows alone; the service is not called."""
    failing = _failing(engine, models, now)
    with engine.connect() as connection:
        paid = _recently_paid(connection, models, now)
        unheard = [payment for payment, webhooks in paid if not webhooks]
        return Report(
            at=now,
            checkouts=_count(connection, models),
            held=_held(connection, models),
            to_pay_back_count=count_to_pay_back(connection, models),
            to_pay_back=list_to_pay_back(connection, models, _LISTED),
            undelivered_count=_count_undelivered(connection, models),
            undelivered=_undelivered(connection, models),
            recently_paid=len(paid),
            unheard_count=len(unheard),
            unheard=tuple(unheard[:_LISTED]),
            webhooks_silent=_silent(paid),
            backlog=read_backlog(connection, models, now),
            unsettled=_unsettled(connection, models),
            unreadable=_unreadable(connection, models, now),
            failing=failing,
            webhook_url=webhook_url,
        )


def read_alarms(engine: Engine, models: Models, now: datetime) -> Alarms:
    """Collect everything that needs a person now, from the stored rows alone."""
    status = models.checkouts.c.status
    failing = _failing(engine, models, now)
    with engine.connect() as connection:
        return Alarms(
            held=connection.execute(select(func.count()).where(status == Status.HELD.value)).scalar_one(),
            to_pay_back=count_to_pay_back(connection, models),
            stuck=_stuck(_undelivered(connection, models), now),
            webhooks_silent=_silent(_recently_paid(connection, models, now, _SILENT)),
            backlog=read_backlog(connection, models, now),
            unsettled=_unsettled(connection, models),
            unreadable=_unreadable(connection, models, now),
            failing=failing,
        )


def read_backlog(connection: Connection, models: Models, now: datetime) -> Backlog:
    """Count the reads that reconcile should have made more than five minutes ago."""
    due = models.checkouts.c.next_read_at
    overdue = select(func.count(), func.min(due)).where(due <= now - _PATIENCE)
    count, since = connection.execute(overdue).one()
    return Backlog(count, since and as_utc(since))


def _unsettled(connection: Connection, models: Models) -> tuple[UnsettledPayment, ...]:
    c = models.checkouts.c
    columns = select(c.checkout_id, c.order_id, c.problem_since, c.problem)
    longest_first = columns.where(*_troubled(models), _is_paid(models)).order_by(c.problem_since).limit(_LISTED)
    return tuple(
        UnsettledPayment(row.checkout_id, row.order_id, as_utc(row.problem_since), row.problem or "")
        for row in connection.execute(longest_first)
    )


def _unreadable(connection: Connection, models: Models, now: datetime) -> tuple[Unreadable, ...]:
    # By the last success and not by the next due read: each failed read sets a new due time, so it is never overdue.
    c = models.checkouts.c
    since = func.min(c.problem_since)
    columns = select(func.count(), since, c.problem).group_by(c.problem)
    waiting = columns.where(*_troubled(models), c.problem_since <= now - _PATIENCE, ~_is_paid(models))
    rows = connection.execute(waiting.order_by(since).limit(_GROUPS)).all()
    return tuple(Unreadable(row[0], as_utc(row[1]), row[2] or "") for row in rows)


def _troubled(models: Models) -> tuple[ColumnElement[bool], ...]:
    c = models.checkouts.c
    return c.problem_since.is_not(None), c.status.in_(OPEN)


def _is_paid(models: Models) -> ColumnElement[bool]:
    """Whether the deposit is completed according to its last read."""
    return func.coalesce(models.checkouts.c.deposit_status, "") == _COMPLETED


def _failing(engine: Engine, models: Models, now: datetime) -> tuple[FailingCalls, ...]:
    """Calls that have failed more than once, and for more than five minutes, since they were last answered.

    A newer checkout proves that starts are answered again, whichever process made it.
    """
    c = models.checkouts.c
    failing = failing_calls(engine, models.services)
    if not failing:
        return ()
    with engine.connect() as connection:
        newest = connection.execute(
            select(c.created_at).where(c.id == select(func.max(c.id)).scalar_subquery())
        ).scalar()
    answered_at = None if newest is None else as_utc(newest)
    found = []
    for calls in failing:
        if calls.operation == START and answered_at is not None and answered_at > calls.since:
            if answered_at >= calls.last_failure_at:
                continue
            calls = replace(calls, since=answered_at)
        if calls.count > 1 and calls.since <= now - _PATIENCE:
            found.append(calls)
    return tuple(found)


def _count(connection: Connection, models: Models) -> dict[str, int]:
    status = models.checkouts.c.status
    counted = {row[0]: row[1] for row in connection.execute(select(status, func.count()).group_by(status))}
    return {state.value: counted.get(state.value, 0) for state in Status}


def _held(connection: Connection, models: Models) -> tuple[HeldPayment, ...]:
    c = models.checkouts.c
    columns = [c.checkout_id, c.order_id, c.reason, c.moved_at, c.total_amount, c.total_currency]
    held = select(*columns, *(c[name] for name in PAYMENT_COLUMNS)).where(c.status == Status.HELD.value)
    return tuple(
        HeldPayment(
            row["checkout_id"],
            row["order_id"],
            row["reason"],
            as_utc(row["moved_at"]),
            f"{row['total_amount']} {row['total_currency']}",
            payment.paid if (payment := payment_of(row)) else None,
        )
        for row in connection.execute(held.order_by(c.moved_at).limit(_LISTED)).mappings()
    )


def _stuck(undelivered: tuple[UndeliveredEvent, ...], now: datetime) -> tuple[UndeliveredEvent, ...]:
    return tuple(event for event in undelivered if event.last_error or now - event.occurred_at >= _PATIENCE)


def _silent(paid: list[tuple[UnheardPayment, int]]) -> bool:
    return bool(paid) and not any(webhooks for _, webhooks in paid[:_SILENT])


def _recently_paid(
    connection: Connection, models: Models, now: datetime, limit: int = _RECENT
) -> list[tuple[UnheardPayment, int]]:
    """The newest payments, each with its number of webhooks.

    Payments of the last five minutes are left out, since their webhooks may still arrive.
    """
    c = models.checkouts.c
    columns = select(c.checkout_id, c.order_id, c.moved_at, c.found_by, c.webhooks)
    paid = columns.where(c.status == Status.PAID.value, c.moved_at <= now - _PATIENCE)
    rows = connection.execute(paid.order_by(c.moved_at.desc()).limit(limit))
    return [
        (UnheardPayment(row.checkout_id, row.order_id, as_utc(row.moved_at), row.found_by), row.webhooks)
        for row in rows
    ]


def _count_undelivered(connection: Connection, models: Models) -> int:
    waiting = select(func.count()).select_from(models.events).where(models.events.c.next_attempt_at.is_not(None))
    return int(connection.execute(waiting).scalar_one())


def _undelivered(connection: Connection, models: Models) -> tuple[UndeliveredEvent, ...]:
    c = models.events.c
    columns = select(c.event_id, c.name, c.checkout_id, c.order_id, c.occurred_at, c.attempts, c.last_error)
    waiting = columns.where(c.next_attempt_at.is_not(None)).order_by(c.last_error.is_(None), c.id).limit(_LISTED)
    return tuple(
        UndeliveredEvent(*row[:4], as_utc(row.occurred_at), row.attempts, row.last_error)
        for row in connection.execute(waiting)
    )


def _count_lines(report: Report) -> Iterator[str]:
    counted = ", ".join(f"{count} {state}" for state, count in report.checkouts.items())
    yield f"Checkouts at {moment_text(report.at)}: {counted}."
    if not report.needs_a_person:
        yield "Nothing needs a person."


def _held_lines(report: Report) -> Iterator[str]:
    count = report.checkouts[Status.HELD]
    if not count:
        return
    yield from ("", f"HELD: {_number(count, 'payment waits', 'payments wait')} for your decision.")
    for payment in report.held:
        yield (
            f"  {payment.checkout_id} of order {payment.order_id}: {payment.reason},"
            f" {_arrived(payment.paid)} of {payment.asked}, since {moment_text(payment.since)}"
        )
    yield from _more(count, len(report.held))
    yield "  Look into one: flask paycheckout show ORDER_ID"
    yield "  Decide:        flask paycheckout resolve CHECKOUT_ID --accept (or --reject) --by YOU --why REASON"


def _payback_lines(report: Report) -> Iterator[str]:
    if not report.to_pay_back_count:
        return
    payments = _number(report.to_pay_back_count, "payment", "payments")
    yield from ("", f"MONEY TO PAY BACK OR KEEP: {payments} that paid no order.")
    for money in report.to_pay_back:
        decided = "accepted as a second payment" if money.accepted else "rejected"
        yield (
            f"  {money.checkout_id} of order {money.order_id}: {_arrived(money.paid)} of {money.asked},"
            f" {money.reason}, {decided} {moment_text(money.since)}"
        )
    yield from _more(report.to_pay_back_count, len(report.to_pay_back))
    sums = sums_of(report.to_pay_back)
    if sums:
        together = "Together, of those listed" if report.to_pay_back_count > len(report.to_pay_back) else "Together"
        yield f"  {together}: {', '.join(map(str, sums))}"
    yield "  Say what became of one: flask paycheckout payback CHECKOUT_ID --done (or --kept) --by YOU --why REASON"


def _arrived(paid: Amount | None) -> str:
    return "an unknown amount arrived" if paid is None else f"{paid} arrived"


def _unsettled_lines(report: Report) -> Iterator[str]:
    if not report.unsettled:
        return
    count = len(report.unsettled)
    more = " or more" if count == _LISTED else ""
    are = "payment is" if count == 1 else "payments are"
    yield from ("", f"NEITHER PAID NOR HELD: {count}{more} {are} completed at the service, and cannot be applied here.")
    for payment in report.unsettled:
        yield (
            f"  {payment.checkout_id} of order {payment.order_id}, since {moment_text(payment.since)}:"
            f" {_one_line(payment.problem)}"
        )
    yield "  Repair the named cause; reconcile tries again within ten minutes."


def _failing_lines(report: Report) -> Iterator[str]:
    for calls in report.failing:
        yield ""
        yield (
            f"THE SERVICE FAILS: {operation_text(calls)} since {moment_text(calls.since)},"
            f" {calls.count} times, the last {moment_text(calls.last_failure_at)}."
        )
        yield f"  {_one_line(calls.words)}"
    if report.failing:
        yield _DOCTOR


def _unreadable_lines(report: Report) -> Iterator[str]:
    if not report.unreadable:
        return
    count = sum(group.count for group in report.unreadable)
    since = moment_text(min(group.since for group in report.unreadable))
    checkouts = _number(count, "checkout", "checkouts")
    yield from ("", f"NOT READABLE: {checkouts} could not be read or settled, the longest since {since}.")
    for group in report.unreadable:
        yield f"  {group.count} since {moment_text(group.since)}: {_one_line(group.problem)}"
    yield _DOCTOR


def operation_text(calls: FailingCalls) -> str:
    """Name the calls that fail, for people."""
    what = "nobody can start a payment" if calls.operation == START else f"calls to {calls.operation} fail"
    return f"{what} with account {calls.account}" if calls.account else what


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _undelivered_lines(report: Report) -> Iterator[str]:
    if not report.undelivered_count:
        return
    events = _number(report.undelivered_count, "event", "events")
    yield from ("", f"UNDELIVERED: {events} not delivered to every receiver.")
    for event in report.undelivered:
        error = f": {' '.join(event.last_error.split())}" if event.last_error else ""
        yield (
            f"  {event.name} of order {event.order_id}, {moment_text(event.occurred_at)},"
            f" tried {_number(event.attempts, 'time', 'times')}{error}"
        )
    yield from _more(report.undelivered_count, len(report.undelivered))
    if report.stuck:
        yield "  Repair the receiver; reconcile runs it again. If no delivery was tried, start reconcile."
        yield "  To try again now: flask paycheckout deliver --now"


def _webhook_lines(report: Report) -> Iterator[str]:
    if report.unheard_count:
        yield ""
        yield f"WITHOUT A WEBHOOK: {report.unheard_count} of the newest {report.recently_paid} paid checkouts."
        for payment in report.unheard[:10]:
            yield (
                f"  {payment.checkout_id} of order {payment.order_id}, paid {moment_text(payment.paid_at)},"
                f" found by {payment.found_by}"
            )
        yield from _more(report.unheard_count, min(len(report.unheard), 10))
    if report.webhooks_silent:
        orders = "order" if report.recently_paid == 1 else f"{min(report.recently_paid, _SILENT)} orders"
        yield f"  WEBHOOKS DO NOT ARRIVE: there was none for the newest {orders} that were paid."
        yield "  The payments were found without webhooks, but later. Register this address in the service's dashboard:"
        yield f"    {report.webhook_url}"
        yield "  If it is registered, check that the web server, firewall and any login let its POST requests through."


def _backlog_lines(report: Report) -> Iterator[str]:
    if report.backlog.overdue and report.backlog.since:
        overdue = _number(report.backlog.overdue, "read is", "reads are")
        since = moment_text(report.backlog.since)
        yield from ("", f"RECONCILE IS BEHIND: {overdue} overdue, the longest since {since}.")
        yield "  Keep this running beside the shop: flask paycheckout reconcile --watch"


def _more(count: int, listed: int) -> Iterator[str]:
    if count > listed:
        yield f"  ... and {count - listed} more"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
