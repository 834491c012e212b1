"""The list of alarms: everything that is wrong, or that a person has to decide, found in the stored rows alone.

Report, doctor, metrics and the owner's page show this list. A new alarm is one function:

    @alarm(Severity.TODAY)
    def held_payments(look: Look) -> Iterator[Alarm]:
        ...

The name of the function is the kind, `held-payments`. It yields nothing while all is well. `since` comes from the rows,
never from the clock, so that it stays the same while the trouble lasts; so does `key`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Engine, Executable, Select, func, select

from flask_paycheckout.books.account_names import Merchants
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.models import Models
from flask_paycheckout.service.record import FailingCalls, failing_calls
from flask_paycheckout.text import account_text, plain

PATIENCE = timedelta(minutes=5)
"""In a healthy shop webhooks, reconcile rounds and second deliveries have happened by then."""

WEEK = timedelta(days=7)
"""A failed payout needs a person for so long; after that it is only counted. A customer who has not said by then where
a refund goes has not seen the link, and a bank transfer without news, or a part whose rest nobody has paid, is worth a
question.
"""

RECONCILE = "Keep this running beside the shop: flask paycheckout reconcile --watch"
"""The remedy for what only reconcile finds."""

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

    def __str__(self) -> str:
        return self.text if self.problem is None else f"{self.text}: {' '.join(self.problem.split())}"


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
    is_note: bool = False
    """Whether this alarm of a more severe kind is a mere note: it may have passed, or an alarm tells its cause."""

    @property
    def key(self) -> str:
        """The name of this trouble, the same while it lasts."""
        return f"{self.kind}:{self.of}" if self.of else self.kind

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        values: dict[str, Any] = plain(asdict(self))
        del values["of"], values["is_note"]
        for example in values["examples"]:
            del example["name"]
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

    @property
    def checkouts(self) -> Any:
        """The columns of checkouts."""
        return self.models.checkouts.c

    @property
    def payouts(self) -> Any:
        """The columns of payouts."""
        return self.models.payouts.c

    @cached_property
    def failing_calls(self) -> Sequence[FailingCalls]:
        """The calls that the service fails to answer, or that it refuses."""
        # The account of the settings may pay for this one.
        of = None if self.account is None else {self.account, self.merchants.payer_of(self.account)[0]}
        return failing_calls(self.engine, self.models.services, self.now, of)

    def rows(self, statement: Executable) -> Sequence[Any]:
        """Run a statement on a connection that is free again afterwards, since the shop may need one for its keys."""
        return read_rows(self.engine, statement)

    def of_account(self, column: ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The condition that limits a statement to the wanted account, if any."""
        return [] if self.account is None else [column == self.account]


def waiting(
    look: Look,
    rows: Select[Any],
    since: str,
    what: tuple[str, str],
    example: Callable[[Any], Example],
    *remedies: str,
    note: ColumnElement[bool] | None = None,
) -> Iterator[Alarm]:
    """One alarm for all rows of a statement; none without any.

    :param rows: selects what `example` needs, `account`, and the time since when each row waits.
    :param since: the name of that time.
    :param what: what one row, and what many, are; a number stands before it.
    :param note: the condition of rows that are a mere note, where there are no others.
    """
    found = rows.subquery().c
    counted = select(func.count(), func.min(found[since]), func.min(found.account), func.max(found.account))
    [(count, first, lowest, highest)] = look.rows(counted)
    if count:
        examples = map(example, look.rows(rows.order_by(rows.selected_columns[since]).limit(EXAMPLES)))
        account = lowest if lowest == highest else None
        is_note = note is not None and not look.rows(rows.where(~note).limit(1))
        yield Alarm(number(count, *what), as_utc(first), count, account, tuple(examples), remedies, is_note=is_note)


def number(count: int, one: str, many: str) -> str:
    """A count with the noun, and verb, that belong to it."""
    return f"{count} {one if count == 1 else many}"


def subject(row: Any) -> str:
    """The checkout of a row for people: its id, order and account."""
    return f"{row.checkout_id} of order {row.order_id}{account_text(row.account)}"


_Find = Callable[[Look], Iterator[Alarm]]
REGISTERED: dict[str, tuple[Severity, _Find]] = {}
"""By kind; the modules of alarms fill it when they are imported."""


def alarm(severity: Severity) -> Callable[[_Find], _Find]:
    """Register the function that finds the alarms of one kind."""

    def register(find: _Find) -> _Find:
        REGISTERED[find.__name__.replace("_", "-")] = (severity, find)
        return find

    return register
