"""The list of alarms: everything that is wrong, or that a person has to decide, found in the stored rows alone.

Report, doctor, metrics and the owner's page show this list. A new alarm is one function:

    @alarm(Severity.TODAY)
    def held_payments(look: Look) -> Waiting:
        ...

The name of the function is the kind, `held-payments`. It returns alarms, and none while all is well; or the rows that
wait, which are counted together with all other kinds. `since` comes from the rows, never from the clock, so
that it stays the same while the trouble lasts; so does `key`.
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
from flask_paycheckout.service.record import ALL_TRIED, KEYS, PAYOUT, REFUSED, WEB_CALL, FailingCalls, failing_calls
from flask_paycheckout.text import Show, account_text, plain, plain_sum

PATIENCE = timedelta(minutes=5)
"""In a healthy shop webhooks, reconcile rounds and second deliveries have happened by then."""

WEEK = timedelta(days=7)
"""A customer who has not said by then where a refund goes has not seen the link, and a bank transfer without news, or a
part whose rest nobody has paid, is worth a question.
"""

RECONCILE = "Keep this running beside the shop: flask paycheckout reconcile --watch"
"""The remedy for what only reconcile finds."""

_GOES_ON = "It goes on by itself once its cause is over, which has an alarm of its own."

EXAMPLES = 100
"""The most examples of an alarm; its count covers all."""


class Severity(StrEnum):
    """How soon somebody has to act, the most urgent first."""

    NOW = "now"
    """Money or sales stand still."""

    TODAY = "today"
    """A person has to decide or repair something; customers can pay meanwhile."""

    NOTE = "note"
    """Worth knowing; nobody has to act."""

    @property
    def rank(self) -> int:
        """Its place among all, the most urgent first."""
        return list(Severity).index(self)


@dataclass(frozen=True)
class Example:
    """One of the things that an alarm counts, in one line, with the page that tells more."""

    text: str
    order_id: str | None = None
    reference: str | None = None
    """The reference of a payout or refund."""

    problem: str | None = None
    """The error, which may have words of the shop's own code."""

    name: str = ""
    """Its name on the owner's page; `text` where that is empty."""

    checkout_id: str = ""
    """The payment of the order that it is about, to which the owner's page leads; empty for none."""

    is_postponed: bool = False
    """Whether it is a payout that goes on by itself on the next day."""

    def __str__(self) -> str:
        return self.text if self.problem is None else f"{self.text}: {' '.join(self.problem.split())}"


class OwnerPage(NamedTuple):
    """The owner's page that lists what an alarm counts, and says what to do about it."""

    endpoint: str
    words: str
    """The words of the link."""

    status: str | None = None
    """The state to which the page is limited."""


@dataclass(frozen=True)
class Alarm:
    """One trouble."""

    what: str
    """The trouble in one sentence, without a full stop."""

    since: datetime
    """The time since when it lasts, from the stored rows."""

    count: int = 1
    account: str | None = ""
    """The merchant account's name; "" is the one of the settings, None stands for several."""

    examples: tuple[Example, ...] = ()
    remedies: tuple[str, ...] = ()
    """Instructions, each a sentence or a command."""

    of: str = ""
    """The difference from other alarms of its kind, such as an account's name; part of `key`."""

    kind: str = ""
    """The function's name; the decorator sets it, and the severity."""

    severity: Severity = Severity.NOTE
    customers: int = 0
    """How many customers could not pay because of this trouble; the last of `examples` name their orders."""

    until: datetime | None = None
    """When the trouble last happened; None for alarms that do not show it."""

    is_note: bool = False
    """Whether this alarm of a more severe kind is a mere note: it may have passed, or an alarm tells its cause."""

    page: OwnerPage | None = None
    """The owner's page about it; the decorator sets it."""

    url: str = ""
    """The address of that page, or of the first one; empty without such pages. Only `tell_owner` gets it."""

    @property
    def remedy(self) -> str:
        """The first of the remedies; empty without any."""
        return self.remedies[0] if self.remedies else ""

    @property
    def key(self) -> str:
        """The name of this trouble, the same while it lasts."""
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
class Look:
    """The database and the moment in which alarms are looked for."""

    engine: Engine
    models: Models
    now: datetime
    account: str | None
    """Only what is about this merchant account; None: all."""

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
        # The account of the settings may pay for this one.
        of = None if self.account is None else {self.account, self.merchants.payer_of(self.account)[0]}
        return [
            replace(calls, since=since)
            for calls in failing_calls(self.engine, self.models.services, self.now, of)
            if (since := self._failing_since(calls)) is not None
        ]

    def _failing_since(self, calls: FailingCalls) -> datetime | None:
        """The time since when calls fail; None where other calls show that they are possible again.

        Any signed call that is answered shows that service and keys work, unless these fail all the time. Sends are
        tried again after pauses. An answer of the same operation ends the series in the record itself.
        """
        operation, since, last = calls.operation, calls.since, calls.last_failure_at
        if operation in (WEB_CALL, PAYOUT + KEYS) or operation.endswith(REFUSED):
            return since
        answered_at = self._answered_at(calls.account)
        if answered_at > last and last <= self.now - (ALL_TRIED if operation == PAYOUT else PATIENCE):
            return None
        if answered_at > since and calls.resumed_at:
            return None if calls.resumed_at == last else calls.resumed_at
        return since

    def _answered_at(self, account: str) -> datetime:
        """When the service last answered a call with the keys of an account, whichever process has made it."""
        c = self.checkouts
        times = (
            select(c.created_at).order_by(c.id.desc()).limit(1),
            select(func.max(c.last_read_at)).where(c.next_read_at >= EPOCH, c.failed_reads == 0),
            select(func.max(c.moved_at)).where(c.status == Status.PAID),
        )
        found = (at for latest in times for (at,) in read_rows(self.engine, latest.where(c.account == account)))
        return max((as_utc(at) for at in found if at), default=EPOCH)

    @cached_property
    def order_problems(self) -> Sequence[OrderProblem]:
        """The orders that cannot be paid, or could not, the newest first."""
        of_account = self.of_account(self.models.order_problems.c.account)
        return find_problems(self.engine, self.models, lasts(self.models, self.now), *of_account)

    @cached_property
    def failed_starts(self) -> Sequence[OrderProblem]:
        """The orders whose customers could not pay because of an outage, and have not begun since."""
        return [problem for problem in self.order_problems if problem.kind == ProblemKind.UNAVAILABLE]

    @cached_property
    def payer(self) -> ColumnElement[str]:
        """The account that must pay a payout: the one whose money may have paid it already, or its own."""
        return func.coalesce(self.payouts.paid_by, self.payouts.account)

    @cached_property
    def payers(self) -> Mapping[str, tuple[str, bool]]:
        """The accounts that must pay the ready payouts, each as `Merchants.payer_of` tells of it."""
        ready = self.payouts.status == PayoutStatus.READY, *self.of_account(self.payouts.account)
        names = read_rows(self.engine, select(self.payer).where(*ready).distinct().order_by(self.payer))
        return {name: self.merchants.payer_of(name) for (name,) in names}

    @cached_property
    def is_stopped(self) -> ColumnElement[bool]:
        """The condition of refunds of payments that were taken back."""
        return is_stopped(self.models)

    def of_account(self, column: ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The condition that limits a statement to the wanted account, if any."""
        return [] if self.account is None else [column == self.account]


@dataclass(frozen=True)
class Waiting:
    """Rows that wait for something, which make one alarm together; none without any."""

    rows: Select[Any]
    """Selects what `example` needs, `account`, and the time since when each row waits."""

    since: str
    """The name of that time."""

    what: tuple[str, str]
    """The words for one row and for many, which stand behind a number."""

    example: Callable[[Any], Example]
    remedies: Callable[[Sequence[Any]], Iterable[str]]
    """The advice about some of the rows; each sentence is shown once."""

    note: ColumnElement[bool] | None = None
    """The condition of rows that are a mere note, where there are no others."""

    outage: Callable[[], ColumnElement[bool]] | None = None
    """Gives the condition of rows whose cause, an outage, has its own alarm; they are a mere note, too."""

    def of(self, account: str) -> Waiting:
        """Only the rows of a merchant account."""
        # Not by the plain column: along an index of accounts, SQLite could read all abandoned checkouts of this one.
        of_account = func.coalesce(self.rows.selected_columns.account, "") == account
        return replace(self, rows=self.rows.where(of_account))

    def alarm(self, look: Look, count: int, first: datetime, lowest: str, highest: str) -> Alarm:
        """The alarm about these rows.

        :param first: the time since when the oldest one waits.
        :param lowest: the first of their accounts by name, and the last one.
        """
        rows = self.rows
        oldest = read_rows(look.engine, rows.order_by(rows.selected_columns[self.since]).limit(EXAMPLES))
        is_note, is_outage = (
            condition is not None and not read_rows(look.engine, rows.where(~condition).limit(1))
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

    :returns: for each the name, the number of rows, the time since when the oldest one waits, and the outmost accounts.
    """
    counts = []
    for name, each in waiting.items():
        c = each.rows.selected_columns
        figures: Sequence[Any] = func.count(), func.min(c[each.since]), func.min(c.account), func.max(c.account)
        counts.append(each.rows.with_only_columns(literal(name), *figures, maintain_column_froms=True))
    return read_rows(engine, union_all(*counts))


Found = Waiting | Iterable[Alarm]
_Find = Callable[[Look], Found]


class AlarmKind(NamedTuple):
    """A kind of alarms."""

    severity: Severity
    find: _Find
    page: OwnerPage | None


REGISTERED: dict[str, AlarmKind] = {}
"""By name; the modules of alarms fill it when they are imported."""


def alarm(severity: Severity, page: OwnerPage | None = None) -> Callable[[_Find], _Find]:
    """Register the function that finds the alarms of one kind."""

    def register(find: _Find) -> _Find:
        REGISTERED[find.__name__.replace("_", "-")] = AlarmKind(severity, find, page)
        return find

    return register


def number(count: int, one: str, many: str) -> str:
    """A count with the noun, and verb, that belong to it."""
    return f"{count} {one if count == 1 else many}"


def subject(row: Any) -> str:
    """The checkout of a row for people: its id, order and account."""
    return f"{row.checkout_id} of order {row.order_id}{account_text(row.account)}"
