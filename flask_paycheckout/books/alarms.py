"""The list of alarms: everything that is wrong, or that a person must decide, found in the stored rows alone.

Report, doctor, metrics and the owner's page show this list. A new alarm is one function:

    @alarm(Severity.TODAY)
    def held_payments(context: AlarmContext) -> Waiting:
        ...

The name of the function is the kind, `held-payments`. It returns alarms, and none while all is well; or the waiting
rows, which one statement counts for all kinds. `since` comes from the rows, never from the clock, so that it stays the
same while the trouble lasts, as `key` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Engine, Select, func, literal, select, union_all

from flask_paycheckout.books.account_names import Merchants
from flask_paycheckout.checkouts.order_problems import OrderProblem, ProblemKind, find_problems, lasts
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.clock import EPOCH, as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.models import Models
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.payouts.payout_table import is_stopped
from flask_paycheckout.service.record import ALL_TRIED, PAYOUT, WEB_CALL, Cause, FailingCalls, failing_calls
from flask_paycheckout.text import Show, account_text, plain, plain_sum

PATIENCE = timedelta(minutes=5)
"""The time within which webhooks, reconcile rounds and second deliveries happen in a healthy shop."""

WEEK = timedelta(days=7)
"""The time after which unclaimed refunds, bank transfers without news, and parts of unpaid orders need a question."""

RECONCILE = "Keep this running beside the shop: flask paycheckout reconcile --watch"
"""The remedy for rows that wait for reconcile."""

_GOES_ON = "It goes on by itself once its cause is over, which has an alarm of its own."

EXAMPLES = 100
"""The maximum number of examples of an alarm; its count covers all rows."""


class Severity(StrEnum):
    """The urgency of an alarm, the most urgent first."""

    NOW = "now"
    """Money or sales stand still."""

    TODAY = "today"
    """A person has to decide or repair something; customers can pay meanwhile."""

    NOTE = "note"
    """Worth knowing; nobody has to act."""

    @property
    def rank(self) -> int:
        """Its position among the severities; 0 is the most urgent."""
        return list(Severity).index(self)


@dataclass(frozen=True)
class Example:
    """One row that an alarm counts, as a line of text, with the page about it."""

    text: str
    order_id: str | None = None
    reference: str | None = None
    """The reference of a payout or refund."""

    problem: str | None = None
    """The error, which may contain text of the shop's own code."""

    name: str = ""
    """Its name on the owner's page; `text` if this is empty."""

    checkout_id: str = ""
    """The checkout that the owner's page links to; empty for none."""

    is_postponed: bool = False
    """Whether it is a payout that goes on by itself on the next day."""

    def __str__(self) -> str:
        return self.text if self.problem is None else f"{self.text}: {' '.join(self.problem.split())}"


class OwnerPage(NamedTuple):
    """The owner's page that lists the rows of an alarm, and says what to do about them."""

    endpoint: str
    status: str | None = None
    """The state that the page is limited to."""


@dataclass(frozen=True)
class Alarm:
    """One trouble."""

    what: str
    """The trouble in one sentence, without a full stop."""

    since: datetime
    """The time when it began, from the stored rows."""

    count: int = 1
    account: str | None = ""
    """The merchant account's name; "" for the account of the settings, None for several accounts."""

    examples: tuple[Example, ...] = ()
    remedies: tuple[str, ...] = ()
    """Instructions, each a sentence or a command."""

    of: str = ""
    """The part of `key` that tells it from other alarms of its kind, such as an account's name."""

    kind: str = ""
    """The function's name; the decorator sets it, and the severity."""

    severity: Severity = Severity.NOTE
    customers: int = 0
    """The number of customers who could not pay because of it; the last of `examples` name their orders."""

    until: datetime | None = None
    """The time when the trouble last happened; None for alarms that do not show it."""

    is_note: bool = False
    """Whether its severity is lowered to a note, because it may be over, or another alarm names its cause."""

    page: OwnerPage | None = None
    """The owner's page about it; the decorator sets it."""

    url: str = ""
    """The address of that page, or of the first one; empty without such pages. Only `tell_owner` gets it."""

    @property
    def remedy(self) -> str:
        """The first remedy; empty without any."""
        return self.remedies[0] if self.remedies else ""

    @property
    def key(self) -> str:
        """The name of this alarm, which stays the same while it lasts."""
        return f"{self.kind}:{self.of}" if self.of else self.kind

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        values: dict[str, Any] = plain(asdict(self))
        for inner in ("of", "until", "is_note", "page", "url"):
            del values[inner]
        for example in values["examples"]:
            del example["name"], example["checkout_id"], example["is_postponed"]
        return {"key": self.key} | values


@dataclass(frozen=True)
class AlarmContext:
    """The database, the time and the merchant account for which alarms are found."""

    engine: Engine
    models: Models
    now: datetime
    account: str | None
    """The merchant account whose alarms are found; None for all accounts."""

    merchants: Merchants
    """The merchant accounts; asks the shop for their keys."""

    show: Show = plain_sum
    """Formats the sums in the names of examples, which only the owner's pages show."""

    @cached_property
    def checkouts(self) -> Any:
        """The columns of checkouts."""
        return self.models.checkouts.c

    @cached_property
    def payouts(self) -> Any:
        """The columns of payouts."""
        return self.models.payouts.c

    @cached_property
    def failing_calls(self) -> Sequence[FailingCalls]:
        """The calls that have all failed, or were refused, since the last one that succeeded."""
        # The account of the settings may pay for this account.
        of = None if self.account is None else {self.account, self.merchants.payer_of(self.account)[0]}
        return [
            replace(calls, since=since)
            for calls in failing_calls(self.engine, self.models.services, self.now, of)
            if (since := self._failing_since(calls)) is not None
        ]

    def _failing_since(self, calls: FailingCalls) -> datetime | None:
        """The time since when calls fail; None if other calls show that they are possible again.

        Any signed call that is answered shows that the service and the keys work, unless the calls fail all the time.
        Sends of payouts are retried after pauses. An answer of the same operation ends the series in the record itself.
        """
        operation, since, last = calls.operation, calls.since, calls.last_failure_at
        if operation == WEB_CALL or calls.trouble == (PAYOUT, Cause.KEYS) or calls.cause is Cause.CONTENT:
            return since
        answered_at = self._answered_at(calls.account)
        if answered_at > last and last <= self.now - (ALL_TRIED if operation == PAYOUT else PATIENCE):
            return None
        if answered_at > since and calls.resumed_at:
            return None if calls.resumed_at == last else calls.resumed_at
        return since

    def _answered_at(self, account: str) -> datetime:
        """The time when the service last answered a call with an account's keys, by any process."""
        c = self.checkouts
        times = (
            select(c.created_at).order_by(c.id.desc()).limit(1),
            select(func.max(c.last_read_at)).where(c.next_read_at >= EPOCH, c.failed_reads == 0),
            select(func.max(c.moved_at)).where(c.status == Status.PAID),
        )
        times_of_answers = (
            at for latest in times for (at,) in read_rows(self.engine, latest.where(c.account == account))
        )
        return max((as_utc(at) for at in times_of_answers if at), default=EPOCH)

    @cached_property
    def order_problems(self) -> Sequence[OrderProblem]:
        """The orders that cannot or could not be paid, the newest first."""
        of_account = self.of_account(self.models.order_problems.c.account)
        return find_problems(self.engine, self.models, lasts(self.models, self.now), *of_account)

    @cached_property
    def failed_starts(self) -> Sequence[OrderProblem]:
        """The orders whose customers could not pay because of an outage, and have not tried again since."""
        return [problem for problem in self.order_problems if problem.kind == ProblemKind.UNAVAILABLE]

    @cached_property
    def payer(self) -> ColumnElement[str]:
        """The account that must pay a payout: the account that may have paid it already, or its own."""
        return func.coalesce(self.payouts.paid_by, self.payouts.account)

    @cached_property
    def payers(self) -> Mapping[str, tuple[str, bool]]:
        """The accounts that must pay the ready payouts, each with the result of `Merchants.payer_of`."""
        ready = self.payouts.status == PayoutStatus.READY, *self.of_account(self.payouts.account)
        names = read_rows(self.engine, select(self.payer).where(*ready).distinct().order_by(self.payer))
        return {name: self.merchants.payer_of(name) for (name,) in names}

    @cached_property
    def is_stopped(self) -> ColumnElement[bool]:
        """The condition of refunds of payments that were taken back."""
        return is_stopped(self.models)

    def of_account(self, column: ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The condition that limits a statement to the context's account, if there is one."""
        return [] if self.account is None else [column == self.account]


@dataclass(frozen=True)
class Waiting:
    """Rows that wait for something, which make one alarm together; no rows make no alarm."""

    rows: Select[Any]
    """Selects the columns for `example`, `account`, and the time since when each row waits."""

    since: str
    """The column of that time."""

    what: tuple[str, str]
    """The texts after the number, for one row and for several."""

    example: Callable[[Any], Example]
    remedies: Callable[[Sequence[Any]], Iterable[str]]
    """The advice about some of the rows; each sentence is shown once."""

    note: ColumnElement[bool] | None = None
    """The condition of rows that make the alarm a note, if there are no other rows."""

    outage: Callable[[], ColumnElement[bool]] | None = None
    """Returns the condition of rows whose cause, an outage, has its own alarm; they make the alarm a note, too."""

    def of(self, account: str) -> Waiting:
        """These rows, limited to a merchant account."""
        # Do not compare the plain column: SQLite could then read all abandoned checkouts of the account by an index.
        of_account = func.coalesce(self.rows.selected_columns.account, "") == account
        return replace(self, rows=self.rows.where(of_account))

    def alarm(self, context: AlarmContext, count: int, first: datetime, lowest: str, highest: str) -> Alarm:
        """The alarm about these rows.

        :param first: the time since when the oldest row waits.
        :param lowest: the first of the rows' accounts by name; `highest` is the last.
        """
        rows = self.rows
        oldest = read_rows(context.engine, rows.order_by(rows.selected_columns[self.since]).limit(EXAMPLES))
        is_note, is_outage = (
            condition is not None and not read_rows(context.engine, rows.where(~condition).limit(1))
            for condition in (self.note, self.outage and self.outage())
        )
        return Alarm(
            number(count, *self.what),
            as_utc(first),
            count,
            lowest if lowest == highest else None,
            tuple(map(self.example, oldest)),
            (_GOES_ON,) if is_outage else tuple(dict.fromkeys(self.remedies(oldest))),
            is_note=is_note or is_outage,
        )


def count_waiting(engine: Engine, waiting: Mapping[str, Waiting]) -> Sequence[Any]:
    """Count the rows of several kinds by one statement.

    :returns: for each kind its name, the number of rows, the time of the oldest row, and the first and last account by
        name.
    """
    counts = []
    for name, each in waiting.items():
        c = each.rows.selected_columns
        figures: Sequence[Any] = func.count(), func.min(c[each.since]), func.min(c.account), func.max(c.account)
        counts.append(each.rows.with_only_columns(literal(name), *figures, maintain_column_froms=True))
    return read_rows(engine, union_all(*counts))


Found = Waiting | Iterable[Alarm]
_Find = Callable[[AlarmContext], Found]


class AlarmKind(NamedTuple):
    """A kind of alarms."""

    severity: Severity
    find: _Find
    page: OwnerPage | None


REGISTERED: dict[str, AlarmKind] = {}
"""All kinds of alarms by name; the modules of alarms add theirs when they are imported."""


def alarm(severity: Severity, page: OwnerPage | None = None) -> Callable[[_Find], _Find]:
    """Register the function that finds the alarms of one kind."""

    def register(find: _Find) -> _Find:
        REGISTERED[find.__name__.replace("_", "-")] = AlarmKind(severity, find, page)
        return find

    return register


def number(count: int, one: str, many: str) -> str:
    """A count with its noun, and perhaps verb, in singular or plural."""
    return f"{count} {one if count == 1 else many}"


def subject(row: Any) -> str:
    """The checkout of a row for people: its id, order and account."""
    return f"{row.checkout_id} of order {row.order_id}{account_text(row.account)}"
