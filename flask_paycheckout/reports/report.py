"""How payments stand in the whole shop, and what of it needs a person."""

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

# So many are listed; all are counted.
_LISTED = 100
_RECENT = 1000
# So many paid orders in a row without a webhook are no bad luck any more.
_SILENT = 5
# Webhooks, reconcile rounds and second deliveries have come by then when all is well.
_PATIENCE = timedelta(minutes=5)
# So many different problems are told.
_GROUPS = 10
_COMPLETED = "completed"
_DOCTOR = "  What is wrong, and what to do: flask paycheckout doctor"


@dataclass(frozen=True)
class HeldPayment:
    """Money that waits for a person's decision.

    :ivar asked: the total that the customer was asked for.
    :ivar paid: what the customer paid; None where that was not said, or is not stored.
    """

    checkout_id: str
    order_id: str
    reason: str | None
    since: datetime
    asked: str
    paid: Amount | None


@dataclass(frozen=True)
class UndeliveredEvent:
    """An event that not every receiver has been told of."""

    event_id: str
    name: str
    checkout_id: str
    order_id: str
    occurred_at: datetime
    attempts: int
    last_error: str | None


@dataclass(frozen=True)
class UnheardPayment:
    """A payment that was found although no webhook told of it."""

    checkout_id: str
    order_id: str
    paid_at: datetime
    #: What caused the read that found it: status page, reconcile or settle.
    found_by: str | None


@dataclass(frozen=True)
class Backlog:
    """Reads that are due for more than five minutes: reconcile does not run, or does not keep up."""

    overdue: int
    since: datetime | None


@dataclass(frozen=True)
class UnsettledPayment:
    """Money that arrived and is neither paid nor held, because what the service says of it could not be applied.

    :ivar problem: why; of a receiver that failed, which one.
    """

    checkout_id: str
    order_id: str
    since: datetime
    problem: str


@dataclass(frozen=True)
class Unreadable:
    """Checkouts whose deposits could not be read for more than five minutes, or what they say not be applied.

    :ivar since: when the first of these reads failed.
    :ivar problem: why the last ones failed, the same for all of these.
    """

    count: int
    since: datetime
    problem: str


@dataclass(frozen=True)
class Alarms:
    """What of a report needs a person, found without a look at what is well; for a page that is opened often."""

    #: Payments that wait for a decision.
    held: int
    #: Payments of which somebody must say whether they were paid back or are kept.
    to_pay_back: int
    #: Events of which a receiver failed, or that nobody delivered for minutes; 100 at most.
    stuck: tuple[UndeliveredEvent, ...]
    #: No webhook told of any of the last orders that were paid: five, or as many as there are.
    webhooks_silent: bool
    backlog: Backlog
    #: Money that arrived and is neither paid nor held; 100 at most.
    unsettled: tuple[UnsettledPayment, ...] = ()
    #: Deposits that cannot be read, by their problem, those with the oldest first; 10 at most.
    unreadable: tuple[Unreadable, ...] = ()
    #: What the service has not answered for more than five minutes, or refuses.
    failing: tuple[FailingCalls, ...] = ()


@dataclass(frozen=True)
class Report:
    """How payments stand at a moment; `str()` tells it, with the remedy of what needs a person.

    Of `held`, `to_pay_back`, `undelivered` and `unheard` at most 100 each are listed; their counts are of all.
    """

    at: datetime
    #: Checkouts by state; every state is named.
    checkouts: dict[str, int]
    held: tuple[HeldPayment, ...]
    to_pay_back_count: int
    #: Rejected payments, and accepted second ones, of which nobody said yet whether they were paid back or are kept.
    to_pay_back: tuple[MoneyToPayBack, ...]
    undelivered_count: int
    #: Those of which a receiver failed first, then the oldest.
    undelivered: tuple[UndeliveredEvent, ...]
    #: How many paid checkouts `unheard` is about: the newest 1,000 at most, paid more than five minutes ago.
    recently_paid: int
    unheard_count: int
    unheard: tuple[UnheardPayment, ...]
    #: No webhook told of any of the last orders that were paid: five, or as many as there are.
    webhooks_silent: bool
    backlog: Backlog
    #: Money that arrived and is neither paid nor held, the longest first; 100 at most.
    unsettled: tuple[UnsettledPayment, ...]
    #: Deposits that cannot be read, by their problem, the longest first; 10 at most.
    unreadable: tuple[Unreadable, ...]
    #: What the service has not answered for more than five minutes, or refuses.
    failing: tuple[FailingCalls, ...]
    #: What to register in the service's dashboard.
    webhook_url: str

    @property
    def stuck(self) -> tuple[UndeliveredEvent, ...]:
        """The listed events of which a receiver failed, or that nobody delivered for minutes."""
        return _stuck(self.undelivered, self.at)

    @property
    def needs_a_person(self) -> bool:
        """Whether anything here will not get better by itself."""
        troubles = (self.held, self.to_pay_back, self.stuck, self.webhooks_silent, self.backlog.overdue)
        return any(troubles) or bool(self.unsettled or self.unreadable or self.failing)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values; moments as ISO 8601 text."""
        told: dict[str, Any] = plain(asdict(self))
        return told | {"needs_a_person": self.needs_a_person}

    def __str__(self) -> str:
        troubles = (_held_lines, _payback_lines, _unsettled_lines, _undelivered_lines, _webhook_lines)
        sections = (_count_lines, *troubles, _failing_lines, _unreadable_lines, _backlog_lines)
        return "\n".join(visible(line) for section in sections for line in section(self))


def report(engine: Engine, models: Models, now: datetime, webhook_url: str) -> Report:
    """How payments stand now, from what is stored; nothing is read from the service."""
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
    """What needs a person now, from what is stored."""
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
    """What reconcile should have read long ago."""
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
    """Judged by when a read last succeeded, not by when the next one is due: whoever tries in vain is never overdue."""
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
    """Whether the service said that the deposit is completed."""
    return func.coalesce(models.checkouts.c.deposit_status, "") == _COMPLETED


def _failing(engine: Engine, models: Models, now: datetime) -> tuple[FailingCalls, ...]:
    """Calls that failed more than once since they were last answered, for five minutes.

    A checkout that was made since tells that starts are answered again, whichever process made it.
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
    return tuple(told for told in undelivered if told.last_error or now - told.occurred_at >= _PATIENCE)


def _silent(paid: list[tuple[UnheardPayment, int]]) -> bool:
    return bool(paid) and not any(webhooks for _, webhooks in paid[:_SILENT])


def _recently_paid(
    connection: Connection, models: Models, now: datetime, limit: int = _RECENT
) -> list[tuple[UnheardPayment, int]]:
    """The newest payments, each with how many webhooks told of it. Those of the last minutes may still get theirs."""
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


def _count_lines(told: Report) -> Iterator[str]:
    counted = ", ".join(f"{count} {state}" for state, count in told.checkouts.items())
    yield f"Checkouts at {moment_text(told.at)}: {counted}."
    if not told.needs_a_person:
        yield "Nothing needs a person."


def _held_lines(told: Report) -> Iterator[str]:
    count = told.checkouts[Status.HELD]
    if not count:
        return
    yield from ("", f"HELD: {_number(count, 'payment waits', 'payments wait')} for your decision.")
    for payment in told.held:
        yield (
            f"  {payment.checkout_id} of order {payment.order_id}: {payment.reason},"
            f" {_arrived(payment.paid)} of {payment.asked}, since {moment_text(payment.since)}"
        )
    yield from _more(count, len(told.held))
    yield "  Look into one: flask paycheckout show ORDER_ID"
    yield "  Decide:        flask paycheckout resolve CHECKOUT_ID --accept (or --reject) --by YOU --why REASON"


def _payback_lines(told: Report) -> Iterator[str]:
    if not told.to_pay_back_count:
        return
    payments = _number(told.to_pay_back_count, "payment", "payments")
    yield from ("", f"MONEY TO PAY BACK OR KEEP: {payments} that paid no order.")
    for money in told.to_pay_back:
        decided = "accepted as a second payment" if money.accepted else "rejected"
        yield (
            f"  {money.checkout_id} of order {money.order_id}: {_arrived(money.paid)} of {money.asked},"
            f" {money.reason}, {decided} {moment_text(money.since)}"
        )
    yield from _more(told.to_pay_back_count, len(told.to_pay_back))
    sums = sums_of(told.to_pay_back)
    if sums:
        together = "Together, of those listed" if told.to_pay_back_count > len(told.to_pay_back) else "Together"
        yield f"  {together}: {', '.join(map(str, sums))}"
    yield "  Say what became of one: flask paycheckout payback CHECKOUT_ID --done (or --kept) --by YOU --why REASON"


def _arrived(paid: Amount | None) -> str:
    return "an unknown amount arrived" if paid is None else f"{paid} arrived"


def _unsettled_lines(told: Report) -> Iterator[str]:
    if not told.unsettled:
        return
    count = len(told.unsettled)
    more = " or more" if count == _LISTED else ""
    are = "payment is" if count == 1 else "payments are"
    yield from ("", f"NEITHER PAID NOR HELD: {count}{more} {are} completed at the service, and cannot be applied here.")
    for payment in told.unsettled:
        yield (
            f"  {payment.checkout_id} of order {payment.order_id}, since {moment_text(payment.since)}:"
            f" {_one_line(payment.problem)}"
        )
    yield "  Repair what it names; reconcile tries again, ten minutes later at most."


def _failing_lines(told: Report) -> Iterator[str]:
    for calls in told.failing:
        yield ""
        yield (
            f"THE SERVICE FAILS: {operation_text(calls)} since {moment_text(calls.since)},"
            f" {calls.count} times, the last {moment_text(calls.last_failure_at)}."
        )
        yield f"  {_one_line(calls.words)}"
    if told.failing:
        yield _DOCTOR


def _unreadable_lines(told: Report) -> Iterator[str]:
    if not told.unreadable:
        return
    count = sum(group.count for group in told.unreadable)
    since = moment_text(min(group.since for group in told.unreadable))
    checkouts = _number(count, "checkout", "checkouts")
    yield from ("", f"NOT READABLE: {checkouts} could not be read, or not be settled, the longest since {since}.")
    for group in told.unreadable:
        yield f"  {group.count} since {moment_text(group.since)}: {_one_line(group.problem)}"
    yield _DOCTOR


def operation_text(calls: FailingCalls) -> str:
    """Which calls fail, for people."""
    what = "nobody can start a payment" if calls.operation == START else f"calls to {calls.operation} fail"
    return f"{what} with account {calls.account}" if calls.account else what


def _one_line(words: str) -> str:
    return " ".join(words.split())


def _undelivered_lines(told: Report) -> Iterator[str]:
    if not told.undelivered_count:
        return
    yield from ("", f"UNDELIVERED: {_number(told.undelivered_count, 'event', 'events')} not told to every receiver.")
    for event in told.undelivered:
        error = f": {' '.join(event.last_error.split())}" if event.last_error else ""
        yield (
            f"  {event.name} of order {event.order_id}, {moment_text(event.occurred_at)},"
            f" tried {_number(event.attempts, 'time', 'times')}{error}"
        )
    yield from _more(told.undelivered_count, len(told.undelivered))
    if told.stuck:
        yield "  Repair the receiver; reconcile runs it again. If nothing was tried, start reconcile."
        yield "  To try again now: flask paycheckout deliver --now"


def _webhook_lines(told: Report) -> Iterator[str]:
    if told.unheard_count:
        yield ""
        yield f"WITHOUT A WEBHOOK: {told.unheard_count} of the newest {told.recently_paid} paid checkouts."
        for payment in told.unheard[:10]:
            yield (
                f"  {payment.checkout_id} of order {payment.order_id}, paid {moment_text(payment.paid_at)},"
                f" found by {payment.found_by}"
            )
        yield from _more(told.unheard_count, min(len(told.unheard), 10))
    if told.webhooks_silent:
        orders = "order" if told.recently_paid == 1 else f"{min(told.recently_paid, _SILENT)} orders"
        yield f"  WEBHOOKS DO NOT ARRIVE: none told of the newest {orders} that were paid."
        yield "  They were found all the same, only later. Register this address in the service's dashboard:"
        yield f"    {told.webhook_url}"
        yield "  If it is registered: does the web server, a firewall or a login before the shop let POSTs through?"


def _backlog_lines(told: Report) -> Iterator[str]:
    if told.backlog.overdue and told.backlog.since:
        overdue = _number(told.backlog.overdue, "read is", "reads are")
        yield from ("", f"RECONCILE IS BEHIND: {overdue} overdue, the longest since {moment_text(told.backlog.since)}.")
        yield "  Keep this running beside the shop: flask paycheckout reconcile --watch"


def _more(count: int, listed: int) -> Iterator[str]:
    if count > listed:
        yield f"  ... and {count - listed} more"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
