"""The alarms about failing calls, webhooks and receivers, which prevent payments from being found and announced."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, exists, func, or_, select

from flask_paycheckout.books.alarms import (
    EXAMPLES,
    PATIENCE,
    Alarm,
    AlarmContext,
    Example,
    Severity,
    Waiting,
    alarm,
    number,
)
from flask_paycheckout.books.order_alarms import alarm_about, problem_example
from flask_paycheckout.checkouts.order_problems import OrderProblem
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.clock import EPOCH, as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.database_errors import READ_ONLY
from flask_paycheckout.events.receivers import NOBODY_LISTENS
from flask_paycheckout.service.record import (
    ALL_TRIED,
    CLAIM,
    NO_KEYS,
    PAYOUT,
    READS,
    REFUSED_WEB_CALLS,
    START,
    UNTRIED,
    WEB_CALL,
    Cause,
    FailingCalls,
    Trouble,
)
from flask_paycheckout.signals import NEEDS_RECEIVER
from flask_paycheckout.text import account_text, moment_text

_LOG_IN = (
    "Set a new access token: a merchant account's own in its Account, that of the settings in PAYCHECKOUT_ACCESS_TOKEN;"
    " or, for that, log in once: flask paycheckout payouts send --login"
)
DOCTOR = "What is wrong, and what to do: flask paycheckout doctor"
_OUTAGE = tuple((operation, Cause.SERVICE) for operation in (START, CLAIM, PAYOUT, READS))
_REFUSED_STARTS = START, Cause.CONTENT
# The troubles because of which customers cannot pay.
_UNPAYABLE = (START, Cause.SERVICE), (READS, Cause.SERVICE), *NO_KEYS, _REFUSED_STARTS, REFUSED_WEB_CALLS
# From this number of accounts on, they share one alarm.
_SEVERAL = 6
# The number of consecutive paid orders without a webhook after which webhooks do not arrive at all.
_SILENT = 5
_RECENT = 400
# The effect of failing calls by operation, and the plural noun for such calls.
_WORDS = {
    START: ("nobody can start a payment", "starts"),
    CLAIM: ("no customer can say where a refund goes", "claims"),
    PAYOUT: ("no payout can be sent", "payouts"),
    READS: ("payments cannot be read", "reads"),
    WEB_CALL: ("customers are refused although the service answers", "web requests"),
}


@alarm(Severity.NOW)
def read_only_database(context: AlarmContext) -> Iterator[Alarm]:
    """A read-only database; `since` is the last time when an event was recorded."""
    if context.engine.dialect.name != "postgresql":
        return
    with context.engine.connect() as connection:
        setting = connection.exec_driver_sql("SELECT current_setting('transaction_read_only')").scalar_one()
    # The setting is on for a replica, and for a database that was made read-only.
    if setting != "on":
        return
    newest = read_rows(
        context.engine, select(context.models.events.c.occurred_at).order_by(context.models.events.c.id.desc()).limit(1)
    )
    since = as_utc(newest[0][0]) if newest else context.now
    yield Alarm("The database is read-only: no payment can be recorded", since, remedies=(READ_ONLY.remedy,))


@alarm(Severity.NOW)
def failing_service(context: AlarmContext) -> Iterator[Alarm]:
    """A service that does not answer, or fails; a single alarm for all affected calls and accounts."""
    for failing in _by_account(context, "the service failed", *_OUTAGE, several=2):
        yield replace(failing, of="")


@alarm(Severity.NOW)
def refused_keys(context: AlarmContext) -> Iterator[Alarm]:
    """Accounts whose keys the service refuses, or for which the shop gives none."""
    return _by_account(context, "the keys were refused, or the shop gives none", *NO_KEYS)


@alarm(Severity.NOW)
def refused_tokens(context: AlarmContext) -> Iterator[Alarm]:
    """Accounts whose access token the service refuses, or for which the shop gives no usable one."""
    return _by_account(context, "the access token was refused", (PAYOUT, Cause.KEYS), remedy=_LOG_IN)


@alarm(Severity.NOW)
def refused_starts(context: AlarmContext) -> Iterator[Alarm]:
    """Accounts with which nobody can pay, because an atomic receiver fails, or the service's URL is not allowed."""
    return _by_account(context, "it was refused", _REFUSED_STARTS)


@alarm(Severity.TODAY)
def refused_customers(context: AlarmContext) -> Iterator[Alarm]:
    """Customers who were refused although the service answers, until an hour after the last refusal."""
    return _by_account(
        context,
        "too many web requests waited for it",
        REFUSED_WEB_CALLS,
        remedy="Raise PAYCHECKOUT_WEB_CALLS, or run more processes of the shop",
    )


@alarm(Severity.TODAY)
def failed_starts(context: AlarmContext) -> Iterator[Alarm]:
    """Customers who could not pay, once the cause has no alarm any more, until they begin to pay, or for a week."""
    if not context.failed_starts:
        return
    # Skip customers whose cause has an alarm or a note, or is a single failure of the last hour, which may become an
    # alarm.
    lately = context.now - UNTRIED
    lasting = [
        calls for calls in context.failing_calls if _causes_alarm(context, calls) or calls.last_failure_at > lately
    ]
    covered = set(_stopped_by(context, lasting))
    # In the first minutes, customers usually try again themselves.
    rows = [row for row in context.failed_starts if row not in covered and row.last_at <= context.now - PATIENCE]
    if rows:
        first, last, who = min(row.since for row in rows), max(row.last_at for row in rows), _customers(rows)
        what = f"{who} could not pay between {moment_text(first)} and {moment_text(last)}"
        remedy = "Send them the link of their order's page: it ends when they begin to pay, or after a week"
        yield replace(alarm_about(context, what, rows, remedy), customers=len(rows), until=last)


def _customers(rows: Collection[OrderProblem]) -> str:
    return number(len(rows), "customer", "customers")


def _stopped_by(context: AlarmContext, failing: Sequence[FailingCalls]) -> list[OrderProblem]:
    """The orders whose customers could not pay because these calls fail."""
    began: dict[str, datetime] = {}
    for calls in failing:
        if calls.trouble in _UNPAYABLE:
            began[calls.account] = min(calls.since, began.get(calls.account, calls.since))
    # A repeated failure of an order is not stored immediately.
    return [
        row for row in context.failed_starts if row.account in began and row.last_at >= began[row.account] - PATIENCE
    ]


def _by_account(
    context: AlarmContext, why: str, *troubles: Trouble, remedy: str = DOCTOR, several: int = _SEVERAL
) -> Iterator[Alarm]:
    """One alarm for each account with failing calls; a single alarm for many accounts."""
    failing = _failing(context, *troubles)
    names = dict.fromkeys(map(attrgetter("account"), failing))
    for name in names if len(names) < several else [None]:
        yield _alarm_of(context, [calls for calls in failing if name in (None, calls.account)], name, why, remedy)


def _alarm_of(
    context: AlarmContext, failing: Sequence[FailingCalls], account: str | None, why: str, remedy: str
) -> Alarm:
    """Make the alarm for failing calls.

    It is only a note if the last call is an hour ago, because the service may have recovered since. Refused keys are
    never a note, because reconcile retries them.
    """
    count, last = sum(calls.count for calls in failing), max(calls.last_failure_at for calls in failing)
    untried = last <= context.now - UNTRIED and not all(calls.trouble in NO_KEYS for calls in failing)
    stopped = _stopped_by(context, failing)
    where = {None: " with several accounts", "": ""}.get(account, f" with account {account}")
    texts = {calls: _WORDS[calls.operation] for calls in failing}
    effects, names = (dict.fromkeys(each) for each in zip(*texts.values(), strict=True))
    what, tries = ", and ".join(effects), " and ".join(names)
    failed = f"The last {count} {tries}{where} failed, the last at {moment_text(last)}; none was tried since"
    fails = f"{what[0].upper()}{what[1:]}{where}: {why} at least {count} times, the last {moment_text(last)}"
    refused_text = f"; {_customers(stopped)} could not pay" if stopped else ""
    examples = [
        Example(f"{calls.count} {tries}{account_text(calls.account)}", problem=calls.error_text)
        for calls, (_, tries) in texts.items()
    ]
    return Alarm(
        f"{failed if untried else fails}{refused_text}",
        *(min(calls.since for calls in failing), count, account),
        tuple([*examples, *(problem_example(context, row) for row in stopped)][:EXAMPLES]),
        (remedy,),
        of=account or "",
        customers=len(stopped),
        is_note=untried,
    )


def _failing(context: AlarmContext, *troubles: Trouble) -> list[FailingCalls]:
    """Calls that have failed more than once, and for over five minutes, since they were last answered.

    Refused keys count immediately: the shop was asked for them again already, so no retry will be accepted.
    """
    return [
        calls
        for trouble in troubles
        for calls in context.failing_calls
        if calls.trouble == trouble and _causes_alarm(context, calls)
    ]


def _causes_alarm(context: AlarmContext, calls: FailingCalls) -> bool:
    return calls.trouble in NO_KEYS or (calls.count > 1 and calls.since <= context.now - PATIENCE)


def in_outage(
    context: AlarmContext, account: ColumnElement[Any], since: ColumnElement[Any], *operations: str
) -> ColumnElement[bool]:
    """The condition that a row's trouble is caused by a failing service or refused keys, which have their own alarm.

    The trouble must have begun in an outage that lasts, or that ended so recently that some retries are still open.

    :param account: the account whose keys the row waits for.
    :param since: the time when the row's trouble began.
    :param operations: the calls that the row waits for.
    """
    causes = Cause.SERVICE, Cause.KEYS
    troubles = [(operation, cause) for operation in operations for cause in causes]
    c, lately = context.models.services.c, context.now - ALL_TRIED
    # Rows that were due shortly before the first failure wait for the same calls.
    lasts = [
        (account == calls.account) & (since >= calls.since - PATIENCE)
        for calls in _failing(context, *troubles)
        if calls.last_failure_at > lately
    ]
    is_over = (c["count"] == 0) & (since <= c.last_answer_at) & (c.last_answer_at > lately)
    ended = exists().where(
        c.account == account, c.operation.in_(operations), c.cause.in_(causes), c.failing_since <= since, is_over
    )
    return or_(ended, *lasts)


# Events and webhooks


@alarm(Severity.TODAY)
def undelivered_events(context: AlarmContext) -> Waiting:
    """Events with a failed receiver, or undelivered for more than five minutes."""
    c = context.models.events.c
    stuck = func.coalesce(c.last_error, "").not_like(f"{NOBODY_LISTENS}%")
    late = c.last_error.is_not(None) | (c.occurred_at <= context.now - PATIENCE)
    return _events(
        context,
        (stuck, late),
        "not delivered to every receiver",
        "Repair the receiver; reconcile runs it again. If no delivery was tried, start reconcile.",
        "To try again now: flask paycheckout deliver --now",
    )


@alarm(Severity.TODAY)
def unheard_events(context: AlarmContext) -> Waiting:
    """Payments that the shop does not learn of: nobody listens to `order_paid`. Other signals need no listener."""
    unheard = context.models.events.c.last_error.like(f"{NOBODY_LISTENS}%")
    connect = f"Connect a receiver in a module that every process of the shop imports: @{NEEDS_RECEIVER}.connect"
    return _events(context, (unheard,), "waiting, since nobody listens to the signal", connect)


def _events(context: AlarmContext, where: Sequence[ColumnElement[bool]], what: str, *remedies: str) -> Waiting:
    c, checkouts, payouts = context.models.events.c, context.checkouts, context.payouts
    # Use subqueries, which look up one row each, because a join could read all checkouts.
    of_payout = select(payouts.account).where(payouts.reference == c.payout_reference).scalar_subquery()
    of_checkout = select(checkouts.account).where(checkouts.checkout_id == c.checkout_id).scalar_subquery()
    account = func.coalesce(of_payout, of_checkout, "")
    # Use a range, for which SQLite reads the index; with "is not NULL" it could read all events.
    rows = select(context.models.events, account.label("account")).where(c.next_attempt_at >= EPOCH, *where)
    counted = f"event is {what}", f"events are {what}"
    return Waiting(rows, "occurred_at", counted, _event_example, lambda _: remedies)


def _event_example(row: Any) -> Example:
    about = f"order {row.order_id}" if row.payout_reference is None else f"payout {row.payout_reference}"
    text = f"{row.name} of {about}{account_text(row.account)}, {moment_text(row.occurred_at)}"
    tried = f"{text}, tried {number(row.attempts, 'time', 'times')}"
    return Example(tried, row.order_id or None, row.payout_reference, row.last_error)


@alarm(Severity.TODAY)
def silent_webhooks(context: AlarmContext) -> Iterator[Alarm]:
    """Webhooks that do not arrive: none of the last five paid orders, or of all if there are fewer, had one."""
    c = context.checkouts
    # Skip rows of the last five minutes, because their webhooks may still arrive.
    paid = (c.status == Status.PAID, c.moved_at <= context.now - PATIENCE, *context.of_account(c.account))
    newest = read_rows(
        context.engine, select(c.moved_at, c.webhooks).where(*paid).order_by(c.moved_at.desc()).limit(_RECENT)
    )
    unheard = list(takewhile(lambda row: not row.webhooks, newest))
    if not unheard or len(unheard) < min(_SILENT, len(newest)):
        return
    yield Alarm(
        f"Webhooks do not arrive: none came for the newest {number(len(unheard), 'paid order', 'paid orders')};"
        " the payments were found without webhooks, but later",
        *(as_utc(unheard[-1].moved_at), len(unheard), None),
        remedies=(
            "Register the address that flask paycheckout doctor prints in the service's dashboard.",
            "If it is registered, check that the web server, firewall and any login let its POST requests through.",
        ),
    )
