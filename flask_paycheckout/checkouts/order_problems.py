"""Orders for which a function of the shop fails, whose checkout the service refuses, or whose customer could not pay.

There is one row for each order and function. Reconcile asks again and removes the row once the cause is gone; a later
checkout of the order ends the problem at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Engine,
    Executable,
    String,
    Table,
    Text,
    and_,
    delete,
    exists,
    or_,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed, who_and_why
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.service.limits import Cooldown
from flask_paycheckout.text import MAX_ID, first_line, visible
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

_NAME = "paycheckout_order_problem"
_MAX_TEXT = 500
# The same problem of an order is stored once in this time by each process, however often its customer tries.
_ONCE = timedelta(minutes=1)
# The shortest and the longest pause between two checks by reconcile; the pauses grow with the problem's age.
_SOON, _SELDOM = timedelta(minutes=1), timedelta(minutes=10)
# The longest pause for customers who could not pay: an outage may leave thousands of them, and the shop can only say
# whether their orders are still payable.
_RARELY = timedelta(hours=6)
# A customer who could not pay and has not come back for this time has bought elsewhere or in another order.
_FORGOTTEN = timedelta(days=7)
# The maximum number of problems that one query returns.
_MOST = 1000


class ProblemKind(StrEnum):
    """The function of the shop that failed, by its name, or the service's refusal of a checkout."""

    ORDER_TOTAL = "order_total"
    ACCOUNT_OF = "account_of"
    ACCOUNT = "account"
    ORDER_URL = "order_url"
    PERMISSION = "permission"
    """It is called without an order."""

    DESCRIBE_ORDERS = "describe_orders"
    FIND_ORDERS = "find_orders"
    """It is called without an order."""

    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    """A customer could not pay: the service did not answer, failed or refused the keys, or the app refused the call."""


DESCRIBING = (ProblemKind.DESCRIBE_ORDERS, ProblemKind.FIND_ORDERS)
"""Functions whose failure only makes pages show less."""


class OrderProblem(NamedTuple):
    """The reason why an order cannot be paid, or the function of the shop that fails for it."""

    kind: str
    order_id: str
    """Empty for a function that is called without an order."""

    account: str
    """The merchant account's name; "" for the account of the settings, or if it is unknown."""

    since: datetime
    last_at: datetime
    due: str | None
    """The total that the service refused."""

    error: str

    @property
    def stops_sale(self) -> bool:
        """Whether no payment of the order can be started."""
        return self.kind not in (ProblemKind.ORDER_URL, *DESCRIBING)


def order_problem_table(beside: Table) -> Table:
    """Define the table once, in the metadata of another table of ours, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        Column("kind", String(16), primary_key=True),
        Column("order_id", String(MAX_ID), primary_key=True),
        Column("account", String(MAX_ID), nullable=False),
        Column("since", MOMENT, nullable=False),
        Column("last_at", MOMENT, nullable=False, index=True),
        Column("due", String(MAX_ID)),
        Column("error", Text, nullable=False),
        Column("next_look_at", MOMENT, nullable=False, index=True),
        schema=beside.schema,
        keep_existing=True,
    )


@dataclass(frozen=True, eq=False)
class OrderProblems:
    """The orders of one app that cannot be paid, or for which another function of the shop fails."""

    wiring: Wiring
    _lately: Cooldown = field(default_factory=lambda: Cooldown(_ONCE), init=False)

    @property
    def table(self) -> Table:
        return self.wiring.models.order_problems

    def record(
        self, kind: ProblemKind, order_id: str, error: Exception | str, *, account: str = "", due: object = None
    ) -> None:
        """Store a problem; an error of the database is only logged, because a customer waits for the answer.

        :param error: the error; a text instead if its message may contain personal data.
        :param due: the total that the service refused.
        """
        now, key = self.wiring.clock(), {"kind": kind.value, "order_id": order_id}
        if not self._lately.begin(f"{kind} {order_id}", now):
            return
        text = str(error) if isinstance(error, (PaymentsError, str)) else first_line(error)
        values = {"account": account, "last_at": now, "due": due and str(due), "error": visible(text)[:_MAX_TEXT]}
        try:
            with begin_limited(self.wiring.engine()) as connection:
                stored = insert_in(connection, self.table).values(key | {"since": now, "next_look_at": now} | values)
                connection.execute(stored.on_conflict_do_update(index_elements=list(key), set_=values))
        except SQLAlchemyError as failure:
            message = "that %s failed for order %s was not recorded: %s", kind.value, order_id, first_line(failure)
            self.wiring.log.warning("problems of orders", *message, extra=about(order_id), error=failure)

    def of_order(self, order_id: str) -> list[OrderProblem]:
        """An order's problems that are not over."""
        lasting = self.table.c.order_id == order_id, lasts(self.wiring.models, self.wiring.clock())
        return find_problems(self.wiring.engine(), self.wiring.models, *lasting)

    def look_again(self, ask: Callable[[OrderProblem], bool | None]) -> None:
        """Check the problems that are due, and remove the ones that are over.

        :param ask: asks the shop whether the cause of a problem is gone; None where only a customer's try shows that.
        """
        now, c = self.wiring.clock(), self.table.c
        for problem in find_problems(self.wiring.engine(), self.wiring.models, c.next_look_at <= now):
            longest = _RARELY if problem.kind == ProblemKind.UNAVAILABLE else _SELDOM
            values = {"next_look_at": now + min(max((now - problem.since) / 2, _SOON), longest)}
            is_over = ask(problem)
            values |= {"last_at": now} if is_over is False else {}
            changing = delete(self.table) if is_over else update(self.table).values(values)
            same = c.kind == problem.kind, c.order_id == problem.order_id
            # Leave a row alone that was written since it was read.
            self._change(changing.where(*same, c.last_at == problem.last_at))

    def works(self, kind: ProblemKind) -> None:
        """Record that a function that is called without an order works again."""
        same = self.table.c.kind == kind
        # Query first, because it mostly worked before.
        if read_rows(self.wiring.engine(), select(self.table.c.kind).where(same).limit(1)):
            self._change(delete(self.table).where(same))

    def settle(self, order_id: str, by: str, why: str) -> None:
        """Record that a person has dealt with the customer of an order who could not pay.

        :raises ValueError: a name or reason that cannot be recorded.
        """
        by, why = who_and_why(by, why)
        stopped = delete(self.table).filter_by(kind=ProblemKind.UNAVAILABLE.value, order_id=order_id)
        with begin_limited(self.wiring.engine()) as connection:
            # Record the deed once, however often the form is sent.
            if connection.execute(stopped).rowcount:
                deeds, now = self.wiring.models.deeds, self.wiring.clock()
                record_deed(connection, deeds, now, by, "settled", order_id, why, order_id)

    def _change(self, statement: Executable) -> None:
        with begin_limited(self.wiring.engine()) as connection:
            connection.execute(statement)


def find_problems(engine: Engine, models: Models, *where: ColumnElement[bool]) -> list[OrderProblem]:
    """The problems that fulfil these conditions, the newest first; 1,000 at most.

    Customers who could not pay come last, because an outage may leave so many that no room is left for other problems.
    """
    c = models.order_problems.c
    columns = map(c.__getitem__, OrderProblem._fields)
    order = c.kind == ProblemKind.UNAVAILABLE, c.last_at.desc()
    rows = read_rows(engine, select(*columns).where(*where).order_by(*order).limit(_MOST))
    problems = map(OrderProblem._make, rows)
    return [problem._replace(since=as_utc(problem.since), last_at=as_utc(problem.last_at)) for problem in problems]


def lasts(models: Models, now: datetime) -> ColumnElement[bool]:
    """The condition that a problem is not over: no checkout of its order was created since.

    A problem of kind `UNAVAILABLE` is also over when an earlier checkout pays the order, and after a week.
    """
    c, checkouts = models.order_problems.c, models.checkouts.c
    unpaid = ~exists().where(checkouts.paid_order_id == c.order_id)
    waits = or_(c.kind != ProblemKind.UNAVAILABLE, and_(c.last_at > now - _FORGOTTEN, unpaid))
    return and_(waits, ~exists().where(checkouts.current_order_id == c.order_id, checkouts.created_at > c.last_at))
