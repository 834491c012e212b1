"""The record of calls that the service fails to answer, with which the report shows their beginning and error.

Consecutive failures of one operation of an account are a series, which the next answer ends. A series distinguishes an
outage, or wrong keys, from a single payment that cannot be read, whose error is its checkout's `problem`.

Outcomes are collected in memory. Rows are written only when calls begin to fail, when they are answered again, and at
most once a minute while they fail, so a service that answers costs no statement.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from threading import Lock
from typing import Any

import msgspec
from sqlalchemy import Engine, Table, case, select, update
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.client import PaymentsError, RateLimited, RequestRefused, ServiceFault, Unauthorized
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.errors import AmountRefused, ReceiverFailed, UnsafeCheckoutUrl
from flask_paycheckout.per_process import PerProcess
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.text import first_line, visible
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

START = "start"
"""The operation of calls that create a checkout."""

CLAIM = "claim"
"""The operation of calls that create a recipient for a customer's bank account."""

READS = "read"
"""The operation of calls that read deposits, or look for payouts that were sent."""

PAYOUT = "payout"
"""The operation of calls that send payouts; they are made with the access token."""

WEB_CALL = "web call"
"""The operation of calls that web requests may not make, because too many others wait for a service that answers."""

UNTRIED = timedelta(hours=1)
"""The time without another try after which failed calls may be possible again."""


class Cause(StrEnum):
    """The causes of failures, in the order in which a call can meet them."""

    SERVICE = "service"
    """The service does not answer, or fails."""

    KEYS = "keys"
    """The service refuses the account's keys, or the shop returns none."""

    CONTENT = "content"
    """The service refuses the content of each request."""


Trouble = tuple[str, Cause]
"""An operation and the cause of its failures."""

NO_KEYS: tuple[Trouble, ...] = (START, Cause.KEYS), (CLAIM, Cause.KEYS), (READS, Cause.KEYS)
"""The troubles of an account whose keys are refused; sending payouts uses the access token."""

REFUSED_WEB_CALLS: Trouble = WEB_CALL, Cause.SERVICE
"""Too many web requests wait for a service that answers."""

FAILURES = PaymentsError, UnsafeCheckoutUrl, ReceiverFailed
"""The errors of a call to the service, except `AmountRefused`, which is an answer about one order."""

_MINUTE = timedelta(minutes=1)
ALL_TRIED = timedelta(minutes=15)
"""The time within which everything is retried during and after an outage; the longest pause is 10 minutes."""

_CAUSES = tuple(Cause)
_MAX_TEXT = 500


@dataclass(frozen=True)
class FailingCalls:
    """An operation that the service currently does not answer, or refuses."""

    account: str
    """The merchant account's name; "" is the account of the settings."""

    operation: str
    """The operation that fails; `start` creates checkouts."""

    cause: Cause
    since: datetime
    """The time of the first failure since the last answer."""

    last_failure_at: datetime
    resumed_at: datetime | None
    """The time of the first failure after the last pause of an hour; None without such a pause."""

    count: int
    """A lower bound of the number of failures."""

    error_text: str
    """The last failure's error message."""

    @property
    def trouble(self) -> Trouble:
        """The operation and the cause."""
        return self.operation, self.cause


class _Calls(msgspec.Struct):
    """One process's knowledge of one trouble of an account."""

    failing: bool = False
    """Whether the table says that the calls fail, as far as this process knows."""

    written_at: datetime | None = None
    """The time when this process last wrote failures to the table."""

    written: int = 0
    """The number of failures that this process has written since the last answer."""

    failures: int = 0
    """The number of failures that are not written yet."""

    first_failure_at: datetime | None = None
    """The time of the first failure that is not written yet."""

    last_failure_at: datetime | None = None
    error_text: str = ""
    answered_at: datetime | None = None
    """The time of the last answer that is not written yet."""


class _Noted(msgspec.Struct):
    """The outcomes that one process has collected."""

    calls: dict[tuple[str, Trouble], _Calls] = msgspec.field(default_factory=dict)
    """The calls by account and trouble."""

    loaded_at: datetime | None = None
    """The time when the series of other processes were last loaded into `calls`."""

    noting: Lock = msgspec.field(default_factory=Lock)
    """Protects `calls`; never held while a statement runs."""

    writing: Lock = msgspec.field(default_factory=Lock)
    """Held by the thread that writes to the table; other threads do not wait for it."""


@dataclass(frozen=True)
class ServiceRecord:
    """Collects answers and failures of one app's calls, and writes them to the table."""

    wiring: Wiring
    _here: PerProcess[_Noted] = field(default_factory=lambda: PerProcess(_Noted), init=False)

    @contextmanager
    def call(self, operation: str, account: str) -> Iterator[None]:
        """Record the outcome of the call made in this `with` block."""
        try:
            yield
        except AmountRefused:
            # Other orders may get another answer.
            self.on_outcome(operation, account)
            raise
        except FAILURES as error:
            self.on_outcome(operation, account, error)
            raise
        self.on_outcome(operation, account)

    def on_outcome(
        self, operation: str, account: str, error: Exception | None = None, error_text: str | None = None
    ) -> None:
        """Record the outcome of a call, in memory only; thread-safe.

        :param error_text: the error message for people, without secrets; by default the error's own.
        """
        message = str(error) if error_text is None else error_text
        if isinstance(error, AccountUnavailable):
            # No call was made, and none can be made for this account. This says nothing about the service or a token.
            self.on_failure((READS, Cause.KEYS), message, account)
            return
        passed = _CAUSES if error is None else _CAUSES[: _CAUSES.index(_cause(error))]
        self.on_answer([(operation, cause) for cause in passed], account)
        if error is not None:
            self.on_failure((operation, _cause(error)), message, account)

    def on_failure(self, trouble: Trouble, error_text: str, account: str) -> None:
        """Record a failure, in memory only; thread-safe.

        :param error_text: the error message for people, without secrets.
        """
        now, noted = self.wiring.clock(), self._here()
        with noted.noting:
            calls = noted.calls.setdefault((account, trouble), _Calls())
            calls.failures += 1
            calls.first_failure_at = calls.first_failure_at or now
            calls.last_failure_at, calls.error_text = now, visible(error_text)[:_MAX_TEXT]

    def on_refusal(self, error_text: str, account: str) -> None:
        """Record that a web request was not allowed to make a call; an hour without a refusal ends the series."""
        last = self._here().calls.get((account, REFUSED_WEB_CALLS), _Calls()).last_failure_at
        if last is not None and last < self.wiring.clock() - UNTRIED:
            self.on_answer([REFUSED_WEB_CALLS], account)
        self.on_failure(REFUSED_WEB_CALLS, error_text, account)

    def on_answer(self, troubles: Iterable[Trouble], account: str) -> None:
        """Record an answer, which shows that these troubles are over; in memory only, and thread-safe."""
        now, noted = self.wiring.clock(), self._here()
        with noted.noting:
            for trouble in troubles:
                calls = noted.calls.setdefault((account, trouble), _Calls())
                calls.failures, calls.first_failure_at, calls.answered_at = 0, None, now

    def write(self) -> None:
        """Write the collected outcomes to the table; a database error is only logged, so that no payment fails."""
        noted = self._here()
        if not noted.calls or not noted.writing.acquire(blocking=False):
            return
        try:
            if noted.loaded_at is None or noted.loaded_at <= self.wiring.clock() - _MINUTE:
                self._load(noted)
            for (account, (operation, cause)), calls in list(noted.calls.items()):
                if calls.failures or calls.failing:
                    row = {"account": account, "operation": operation, "cause": cause.value}
                    self._write_one(noted, row, calls)
                else:
                    # An earlier answer must not end a series that is loaded later.
                    calls.answered_at = None
        except SQLAlchemyError as error:
            text, reason = "the record of failing calls could not be stored: %s", first_line(error)[:_MAX_TEXT]
            self.wiring.log.warning("records of failing calls", text, reason, extra=about(), error=error)
        finally:
            noted.writing.release()

    def _load(self, noted: _Noted) -> None:
        """Load the series of other processes, so that the answers of this process end them."""
        c = self.wiring.models.services.c
        with self.wiring.engine().connect() as connection:
            rows = connection.execute(select(c.account, c.operation, c.cause).where(c["count"] > 0)).all()
        with noted.noting:
            for account, operation, cause in rows:
                noted.calls.setdefault((account, (operation, Cause(cause))), _Calls()).failing = True
            noted.loaded_at = self.wiring.clock()

    def _write_one(self, noted: _Noted, row: dict[str, str], calls: _Calls) -> None:
        with noted.noting:
            copied = msgspec.structs.replace(calls)
            news = copied.failures and self._is_news(calls)
            answered_at = calls.answered_at if news or not copied.failures else None
            if answered_at:
                calls.answered_at, calls.failing, calls.written = None, False, 0
            if news:
                calls.written_at, calls.written = self.wiring.clock(), calls.written + calls.failures
                calls.failures, calls.first_failure_at, calls.failing = 0, None, True
        try:
            # The answer came before the failures, which begin a new series.
            if answered_at and (copied.failing or news):
                self._store_answer(row, answered_at)
            if news:
                self._store_failures(row, copied)
        except SQLAlchemyError:
            calls.answered_at, calls.failing = calls.answered_at or answered_at, True
            raise

    def _is_news(self, calls: _Calls) -> bool:
        """Whether to write now: the first failure, the second (no accident any more), then once a minute."""
        old = calls.written_at is None or calls.written_at <= self.wiring.clock() - _MINUTE
        return old or calls.written <= 1

    def _store_answer(self, row: dict[str, str], answered_at: datetime) -> None:
        c = self.wiring.models.services.c
        cleared = update(self.wiring.models.services).filter_by(**row).where(c.last_failure_at <= answered_at)
        with begin_limited(self.wiring.engine()) as connection:
            connection.execute(cleared.values(resumed_at=None, last_answer_at=answered_at, count=0))

    def _store_failures(self, row: dict[str, str], noted: _Calls) -> None:
        c, began = self.wiring.models.services.c, noted.first_failure_at or self.wiring.clock()
        values: dict[str, Any] = {"last_failure_at": noted.last_failure_at, "error": noted.error_text}
        first = values | {"failing_since": began, "count": noted.failures}
        more = {
            "failing_since": case((c["count"] > 0, c.failing_since), else_=began),
            "resumed_at": case((c.last_failure_at <= began - UNTRIED, began), else_=c.resumed_at),
            "count": c["count"] + noted.failures,
        }
        with begin_limited(self.wiring.engine()) as connection:
            inserted = insert_in(connection, self.wiring.models.services).values(row | first)
            connection.execute(inserted.on_conflict_do_update(index_elements=list(row), set_=values | more))


def _cause(error: Exception) -> Cause:
    """The cause of a failure."""
    if isinstance(error, Unauthorized):
        return Cause.KEYS
    answered = isinstance(error, RequestRefused) and not isinstance(error, (RateLimited, ServiceFault))
    return Cause.CONTENT if answered or isinstance(error, (UnsafeCheckoutUrl, ReceiverFailed)) else Cause.SERVICE


def failing_calls(
    engine: Engine, table: Table, now: datetime, accounts: Collection[str] | None = None
) -> Sequence[FailingCalls]:
    """List the failing calls in the table, of some accounts or of all; 100 at most."""
    c = table.c
    of_account = [] if accounts is None else [c.account.in_(accounts)]
    lasts = (c.operation != WEB_CALL) | (c.last_failure_at >= now - UNTRIED)
    failing = select(table).where(c["count"] > 0, lasts, *of_account)
    rows = read_rows(engine, failing.order_by(c.account, c.operation, c.cause).limit(100))
    return [
        FailingCalls(
            row.account,
            row.operation,
            Cause(row.cause),
            as_utc(row.failing_since),
            as_utc(row.last_failure_at),
            row.resumed_at and as_utc(row.resumed_at),
            row._mapping["count"],
            row.error,
        )
        for row in rows
    ]
