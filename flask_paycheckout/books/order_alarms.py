"""The alarms about functions of the shop that fail, and about orders whose checkout the service refuses.

Customers who could not pay because the service failed are told in `service_alarms`, with its failure or after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import select

from flask_paycheckout.books.alarms import EXAMPLES, PATIENCE, Alarm, Example, Look, Severity, alarm, number
from flask_paycheckout.checkouts.order_problems import DESCRIBING, OrderProblem, ProblemKind
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.text import Show, account_text, moment_text, stored_sum_text

_SHOW = "Look into one: flask paycheckout show ORDER_ID"
# Problems that have alarms of their own.
_OF_OTHERS = (ProblemKind.REFUSED, ProblemKind.UNAVAILABLE, *DESCRIBING)
# With so many different orders refused in a row, none of an account can be paid.
_SEVERAL = 2


@alarm(Severity.NOW)
def failing_functions(look: Look) -> Iterator[Alarm]:
    """A function of the shop that raises: orders cannot be paid, or people not let in. One alarm for each function."""
    yield from _failing(look, *(kind for kind in ProblemKind if kind not in _OF_OTHERS))


@alarm(Severity.TODAY)
def failing_descriptions(look: Look) -> Iterator[Alarm]:
    """A function of the shop that raises, so that pages show no customers, or find none. One alarm for each."""
    yield from _failing(look, *DESCRIBING)


def _failing(look: Look, *kinds: ProblemKind) -> Iterator[Alarm]:
    # One that the next try repairs is none.
    rows = [
        problem
        for problem in look.order_problems
        if problem.kind in kinds and (problem.last_at > problem.since or problem.since <= look.now - PATIENCE)
    ]
    for kind in dict.fromkeys(row.kind for row in rows):
        failing = [row for row in rows if row.kind == kind]
        orders = number(len(failing), "order", "orders")
        of = orders if failing[0].order_id else "the owner's pages"
        remedy = f"Repair {kind}: the log of the shop has the traceback"
        yield alarm_about(look, f"The shop's function {kind} fails for {of}", failing, remedy, of=kind)


@alarm(Severity.TODAY)
def owner_not_told(look: Look) -> Iterator[Alarm]:
    """The shop's function that is told of alarms raises."""
    c = look.models.alarms.c
    for problem, since in read_rows(look.engine, select(c.problem, c.problem_since).where(c.problem.is_not(None))):
        example = Example(f"tell_owner raised {problem}; the log of reconcile has the rest")
        yield Alarm("Nobody is told of alarms", as_utc(since), examples=(example,), remedies=("Repair tell_owner.",))


@alarm(Severity.NOW)
def refused_orders(look: Look) -> Iterator[Alarm]:
    """Accounts of which the service refuses the checkouts of different orders, and has made none since the first."""
    for account, rows in _refused(look).items():
        if _nobody_can_pay(look, account, rows):
            what = f"Nobody can start a payment{account_text(account)}: the service refuses the checkouts of"
            yield alarm_about(look, f"{what} {number(len(rows), 'order', 'orders')}", rows, _SHOW, of=account)


@alarm(Severity.TODAY)
def refused_amounts(look: Look) -> Iterator[Alarm]:
    """Single orders of which the service refuses the checkout, such as an amount outside its limits."""
    refused = _refused(look).items()
    single = [row for account, rows in refused if not _nobody_can_pay(look, account, rows) for row in rows]
    if single:
        what = number(len(single), "order cannot be paid online", "orders cannot be paid online")
        remedy = "Let its customer pay in another way, or change or cancel the order"
        yield alarm_about(look, f"{what}: the service refuses the checkout", single, _SHOW, remedy)


def _refused(look: Look) -> dict[str, list[OrderProblem]]:
    """The refused orders of each account."""
    rows = [problem for problem in look.order_problems if problem.kind == ProblemKind.REFUSED]
    return {account: [row for row in rows if row.account == account] for account in {row.account for row in rows}}


def _nobody_can_pay(look: Look, account: str, rows: list[OrderProblem]) -> bool:
    c = look.checkouts
    newest = read_rows(look.engine, select(c.created_at).where(c.account == account).order_by(c.id.desc()).limit(1))
    since = [row.since for row in rows if not newest or row.since >= as_utc(newest[0].created_at)]
    return len(since) >= _SEVERAL and min(since) <= look.now - PATIENCE


def alarm_about(look: Look, what: str, rows: Sequence[OrderProblem], *remedies: str, of: str = "") -> Alarm:
    """One alarm about all these orders."""
    accounts = {row.account for row in rows}
    return Alarm(
        what,
        min(row.since for row in rows),
        len(rows),
        accounts.pop() if len(accounts) == 1 else None,
        tuple(problem_example(look, row) for row in rows[:EXAMPLES]),
        remedies,
        of=of,
    )


def problem_example(look: Look, row: OrderProblem) -> Example:
    """The line about one order."""
    subject = f"Order {row.order_id}" if row.order_id else "The owner's pages"
    due, shown = (f", {text}" if text else "" for text in (row.due, _due_text(row.due, look.show)))
    text = f"{subject}{due}{account_text(row.account)}, last {moment_text(row.last_at)}"
    return Example(text, row.order_id or None, problem=row.error, name=f"{subject}{shown}")


def _due_text(due: str | None, show: Show) -> str:
    """A stored total, such as "12.50 USD", in this notation; as it is where it is longer."""
    amount, _, currency = (due or "").partition(" ")
    return stored_sum_text(amount, currency, show) if currency and " " not in currency else due or ""
