"""The alarms about what keeps money from being found and told: failing calls, webhooks and receivers."""

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
    Example,
    Look,
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
    KEYS,
    PAYOUT,
    READS,
    REFUSED,
    SIGNED,
    START,
    UNTRIED,
    WEB_CALL,
    FailingCalls,
)
from flask_paycheckout.signals import NEEDS_RECEIVER
from flask_paycheckout.text import account_text, moment_text

_LOG_IN = (
    "Set a new access token: a merchant account's own in its Account, that of the settings in PAYCHECKOUT_ACCESS_TOKEN;"
    " or, for that, log in once: flask paycheckout payouts send --login"
)
DOCTOR = "What is wrong, and what to do: flask paycheckout doctor"
# The calls without which customers cannot pay.
_TO_PAY = START, READS, *SIGNED, START + REFUSED, WEB_CALL
# From so many accounts on they share one alarm.
_SEVERAL = 6
# With so many paid orders in a row without a webhook, webhooks do not arrive at all.
_SILENT = 5
_RECENT = 400
# The effect of failing calls, by operation, and the name of many such calls.
_WORDS = {
    START: ("nobody can start a payment", "starts"),
    CLAIM: ("no customer can say where a refund goes", "claims"),
    PAYOUT: ("no payout can be sent", "payouts"),
    READS: ("payments cannot be read", "reads"),
    WEB_CALL: ("customers are refused although the service answers", "web requests"),
}


@alarm(Severity.NOW)
def read_only_database(look: Look) -> Iterator[Alarm]:
    """A database that takes no changes; `since` is the last time at which anything was recorded."""
    if look.engine.dialect.name != "postgresql":
        return
    with look.engine.connect() as connection:
        setting = connection.exec_driver_sql("SELECT current_setting('transaction_read_only')").scalar_one()
    # A replica is, and so is a database that was made read-only.
    if setting != "on":
        return
    newest = read_rows(
        look.engine, select(look.models.events.c.occurred_at).order_by(look.models.events.c.id.desc()).limit(1)
    )
    since = as_utc(newest[0][0]) if newest else look.now
    yield Alarm("The database is read-only: no payment can be recorded", since, remedies=(READ_ONLY.remedy,))


@alarm(Severity.NOW)
def failing_service(look: Look) -> Iterator[Alarm]:
    """A service that does not answer, or fails: one trouble, whatever calls and accounts it keeps from working."""
    for one in _by_account(look, "the service failed", START, CLAIM, PAYOUT, READS, several=2):
        yield replace(one, of="")


@alarm(Severity.NOW)
def refused_keys(look: Look) -> Iterator[Alarm]:
    """Accounts of which the service refuses the keys, or for which the shop gives none."""
    return _by_account(look, "the keys were refused, or the shop gives none", *SIGNED)


@alarm(Severity.NOW)
def refused_tokens(look: Look) -> Iterator[Alarm]:
    """Accounts of which the service refuses the access token, or the shop gives none that can be used."""
    return _by_account(look, "the access token was refused", PAYOUT + KEYS, remedy=_LOG_IN)


@alarm(Severity.NOW)
def refused_starts(look: Look) -> Iterator[Alarm]:
    """Accounts with which nobody can pay, since an atomic receiver fails, or the service's URL is not allowed."""
    return _by_account(look, "it was refused", START + REFUSED)


@alarm(Severity.TODAY)
def refused_customers(look: Look) -> Iterator[Alarm]:
    """Customers who were refused although the service answers, until an hour after the last one."""
    return _by_account(
        look,
        "too many web requests waited for it",
        WEB_CALL,
        remedy="Raise PAYCHECKOUT_WEB_CALLS, or run more processes of the shop",
    )


@alarm(Severity.TODAY)
def failed_starts(look: Look) -> Iterator[Alarm]:
    """Customers who could not pay, once that has no alarm of its own, until they begin to pay, or for a week."""
    if not look.failed_starts:
        return
    # What an alarm names, also as a mere note; and a single failure for an hour, in which more may make an alarm of it.
    lately = look.now - UNTRIED
    lasting = [calls for calls in look.failing_calls if _is_told(look, calls) or calls.last_failure_at > lately]
    told = set(_stopped_by(look, lasting))
    # In the first minutes the customer tries again.
    rows = [row for row in look.failed_starts if row not in told and row.last_at <= look.now - PATIENCE]
    if rows:
        first, last, who = min(row.since for row in rows), max(row.last_at for row in rows), _customers(rows)
        what = f"{who} could not pay between {moment_text(first)} and {moment_text(last)}"
        remedy = "Send them the link of their order's page: it ends when they begin to pay, or after a week"
        yield replace(alarm_about(look, what, rows, remedy), customers=len(rows), until=last)


def _customers(rows: Collection[OrderProblem]) -> str:
    return number(len(rows), "customer", "customers")


def _stopped_by(look: Look, failing: Sequence[FailingCalls]) -> list[OrderProblem]:
    """The orders whose customers could not pay since these calls fail."""
    began: dict[str, datetime] = {}
    for calls in failing:
        if calls.operation in _TO_PAY:
            began[calls.account] = min(calls.since, began.get(calls.account, calls.since))
    # A repeated failure of an order is not stored at once.
    return [row for row in look.failed_starts if row.account in began and row.last_at >= began[row.account] - PATIENCE]


def _by_account(
    look: Look, why: str, *operations: str, remedy: str = DOCTOR, several: int = _SEVERAL
) -> Iterator[Alarm]:
    """One alarm for each account with failing calls; a single one for several."""
    failing = _failing(look, *operations)
    names = dict.fromkeys(map(attrgetter("account"), failing))
    for name in names if len(names) < several else [None]:
        yield _alarm_of(look, [calls for calls in failing if name in (None, calls.account)], name, why, remedy)


def _alarm_of(look: Look, failing: Sequence[FailingCalls], account: str | None, why: str, remedy: str) -> Alarm:
    """The alarm for failing calls; a mere note when nobody has tried for an hour, as they may be possible again.

    Not so with refused keys, which reconcile tries itself.
    """
    count, last = sum(calls.count for calls in failing), max(calls.last_failure_at for calls in failing)
    untried = last <= look.now - UNTRIED and not all(calls.operation in SIGNED for calls in failing)
    stopped = _stopped_by(look, failing)
    where = {None: " with several accounts", "": ""}.get(account, f" with account {account}")
    words = {calls: _WORDS[calls.operation.removesuffix(KEYS).removesuffix(REFUSED)] for calls in failing}
    effects, names = (dict.fromkeys(each) for each in zip(*words.values(), strict=True))
    what, tries = ", and ".join(effects), " and ".join(names)
    failed = f"The last {count} {tries}{where} failed, the last at {moment_text(last)}; none was tried since"
    fails = f"{what[0].upper()}{what[1:]}{where}: {why} at least {count} times, the last {moment_text(last)}"
    told = f"; {_customers(stopped)} could not pay" if stopped else ""
    examples = [
        Example(f"{calls.count} {tries}{account_text(calls.account)}", problem=calls.words)
        for calls, (_, tries) in words.items()
    ]
    return Alarm(
        f"{failed if untried else fails}{told}",
        *(min(calls.since for calls in failing), count, account),
        tuple([*examples, *(problem_example(look, row) for row in stopped)][:EXAMPLES]),
        (remedy,),
        of=account or "",
        customers=len(stopped),
        is_note=untried,
    )


def _failing(look: Look, *operations: str) -> list[FailingCalls]:
    """Calls that have failed more than once, and for more than five minutes, since they were last answered.

    Refused keys, which were asked of the shop again before, count at once: no second try accepts them.
    """
    return [
        calls
        for operation in operations
        for calls in look.failing_calls
        if calls.operation == operation and _is_told(look, calls)
    ]


def _is_told(look: Look, calls: FailingCalls) -> bool:
    return calls.operation in SIGNED or (calls.count > 1 and calls.since <= look.now - PATIENCE)


def in_outage(
    look: Look, account: ColumnElement[Any], since: ColumnElement[Any], *operations: str
) -> ColumnElement[bool]:
    """Whether a row's trouble is a failing service, or refused keys, which have an alarm of their own.

    That is so where it began in an outage that lasts, or has ended so lately that not everything was tried again.

    :param account: the account whose keys the row waits for.
    :param since: the time when the row's trouble began.
    :param operations: the calls that the row waits for.
    """
    names = [operation + cause for operation in operations for cause in ("", KEYS)]
    c, lately = look.models.services.c, look.now - ALL_TRIED
    # What was due some moments before the first call failed waits for the same calls.
    lasts = [
        (account == calls.account) & (since >= calls.since - PATIENCE)
        for calls in _failing(look, *names)
        if calls.last_failure_at > lately
    ]
    is_over = (c["count"] == 0) & (since <= c.last_answer_at) & (c.last_answer_at > lately)
    ended = exists().where(c.account == account, c.operation.in_(names), c.failing_since <= since, is_over)
    return or_(ended, *lasts)


# Events and webhooks


@alarm(Severity.TODAY)
def undelivered_events(look: Look) -> Waiting:
    """Events with a failed receiver, or undelivered for more than five minutes."""
    c = look.models.events.c
    stuck = func.coalesce(c.last_error, "").not_like(f"{NOBODY_LISTENS}%")
    late = c.last_error.is_not(None) | (c.occurred_at <= look.now - PATIENCE)
    return _events(
        look,
        (stuck, late),
        "not delivered to every receiver",
        "Repair the receiver; reconcile runs it again. If no delivery was tried, start reconcile.",
        "To try again now: flask paycheckout deliver --now",
    )


@alarm(Severity.TODAY)
def unheard_events(look: Look) -> Waiting:
    """Payments that the shop learns nothing of: nobody listens to `order_paid`. Any other signal may go unheard."""
    unheard = look.models.events.c.last_error.like(f"{NOBODY_LISTENS}%")
    connect = f"Connect a receiver in a module that every process of the shop imports: @{NEEDS_RECEIVER}.connect"
    return _events(look, (unheard,), "waiting, since nobody listens to the signal", connect)


def _events(look: Look, where: Sequence[ColumnElement[bool]], what: str, *remedies: str) -> Waiting:
    c, checkouts, payouts = look.models.events.c, look.checkouts, look.payouts
    # Subqueries, which look one row up each; a join could read all checkouts.
    of_payout = select(payouts.account).where(payouts.reference == c.payout_reference).scalar_subquery()
    of_checkout = select(checkouts.account).where(checkouts.checkout_id == c.checkout_id).scalar_subquery()
    account = func.coalesce(of_payout, of_checkout, "")
    # A range, along which SQLite reads the index; for "is not NULL" it could read all events.
    rows = select(look.models.events, account.label("account")).where(c.next_attempt_at >= EPOCH, *where)
    words = f"event is {what}", f"events are {what}"
    return Waiting(rows, "occurred_at", words, _event_example, lambda _: remedies)


def _event_example(row: Any) -> Example:
    about = f"order {row.order_id}" if row.payout_reference is None else f"payout {row.payout_reference}"
    text = f"{row.name} of {about}{account_text(row.account)}, {moment_text(row.occurred_at)}"
    tried = f"{text}, tried {number(row.attempts, 'time', 'times')}"
    return Example(tried, row.order_id or None, row.payout_reference, row.last_error)


@alarm(Severity.TODAY)
def silent_webhooks(look: Look) -> Iterator[Alarm]:
    """Webhooks that do not arrive: none of the last five paid orders, or of fewer when there are fewer, had one."""
    c = look.checkouts
    # Not the last five minutes' rows, since their webhooks may still arrive.
    paid = (c.status == Status.PAID, c.moved_at <= look.now - PATIENCE, *look.of_account(c.account))
    newest = read_rows(
        look.engine, select(c.moved_at, c.webhooks).where(*paid).order_by(c.moved_at.desc()).limit(_RECENT)
    )
    unheard = list(takewhile(lambda row: not row.webhooks, newest))
    if not unheard or len(unheard) < min(_SILENT, len(newest)):
        return
    yield Alarm(
        f"Webhooks do not arrive: there was none for the newest {number(len(unheard), 'order', 'orders')} that were"
        " paid; the payments were found without, but later",
        *(as_utc(unheard[-1].moved_at), len(unheard), None),
        remedies=(
            "Register the address that flask paycheckout doctor prints in the service's dashboard.",
            "If it is registered, check that the web server, firewall and any login let its POST requests through.",
        ),
    )
