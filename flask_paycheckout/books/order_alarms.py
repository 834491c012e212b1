"""The alarms about functions of the shop that fail, orders whose checkout is refused, and months that differ.

The alarms about customers who could not pay because the service failed are in `service_alarms`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import select

from flask_paycheckout.books.alarms import (
    EXAMPLES,
    PATIENCE,
    Alarm,
    AlarmContext,
    Example,
    OwnerPage,
    Severity,
    alarm,
    number,
)
from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.month_results import result_of
from flask_paycheckout.checkouts.order_problems import DESCRIBING, OrderProblem, ProblemKind
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.text import Show, account_text, moment_text, stored_sum_text

_SHOW = "Look into one: flask paycheckout show ORDER_ID"
# The functions of the shop that `failing_functions` covers.
_FUNCTIONS = {*ProblemKind} - {ProblemKind.REFUSED, ProblemKind.UNAVAILABLE, *DESCRIBING}
# The number of different orders refused in a row after which no order of an account can be paid.
_SEVERAL = 2


@alarm(Severity.NOW)
def failing_functions(context: AlarmContext) -> Iterator[Alarm]:
    """A function of the shop that raises, so that orders cannot be paid, or people cannot enter; one alarm each."""
    return _failing(context, _FUNCTIONS)


@alarm(Severity.TODAY)
def failing_descriptions(context: AlarmContext) -> Iterator[Alarm]:
    """A function of the shop that raises, so that pages show no customers, or find none. One alarm per function."""
    return _failing(context, DESCRIBING)


def _failing(context: AlarmContext, kinds: Collection[ProblemKind]) -> Iterator[Alarm]:
    # A single failure that the next try repairs causes no alarm.
    rows = [
        problem
        for problem in context.order_problems
        if problem.kind in kinds and (problem.last_at > problem.since or problem.since <= context.now - PATIENCE)
    ]
    for kind in dict.fromkeys(row.kind for row in rows):
        failing = [row for row in rows if row.kind == kind]
        orders = number(len(failing), "order", "orders")
        of = orders if failing[0].order_id else "the owner's pages"
        remedy = f"Repair {kind}: the log of the shop has the traceback"
        yield alarm_about(context, f"The shop's function {kind} fails for {of}", failing, remedy, of=kind)


@alarm(Severity.TODAY)
def owner_not_told(context: AlarmContext) -> Iterator[Alarm]:
    """The shop's function `tell_owner` raises."""
    c = context.models.alarms.c
    for problem, since in read_rows(context.engine, select(c.problem, c.problem_since).where(c.problem.is_not(None))):
        example = Example(f"tell_owner raised {problem}; the log of reconcile has the rest")
        yield Alarm("Nobody is told of alarms", as_utc(since), examples=(example,), remedies=("Repair tell_owner.",))


@alarm(Severity.NOW)
def refused_orders(context: AlarmContext) -> Iterator[Alarm]:
    """Accounts whose checkouts the service refuses for different orders, and that got none since the first refusal."""
    for account, rows in _refused(context).items():
        if _nobody_can_pay(context, account, rows):
            what = f"Nobody can start a payment{account_text(account)}: the service refuses the checkouts of"
            yield alarm_about(context, f"{what} {number(len(rows), 'order', 'orders')}", rows, _SHOW, of=account)


@alarm(Severity.TODAY)
def refused_amounts(context: AlarmContext) -> Iterator[Alarm]:
    """Single orders whose checkout the service refuses, for instance because of an amount outside its limits."""
    refused = _refused(context).items()
    single = [row for account, rows in refused if not _nobody_can_pay(context, account, rows) for row in rows]
    if single:
        what = number(len(single), "order cannot be paid online", "orders cannot be paid online")
        remedy = "Let its customer pay in another way, or change or cancel the order"
        yield alarm_about(context, f"{what}: the service refuses the checkout", single, _SHOW, remedy)


def _refused(context: AlarmContext) -> dict[str, list[OrderProblem]]:
    """The refused orders of each account."""
    by_account: dict[str, list[OrderProblem]] = {}
    for problem in context.order_problems:
        if problem.kind == ProblemKind.REFUSED:
            by_account.setdefault(problem.account, []).append(problem)
    return by_account


def _nobody_can_pay(context: AlarmContext, account: str, rows: list[OrderProblem]) -> bool:
    c = context.checkouts
    newest = read_rows(context.engine, select(c.created_at).where(c.account == account).order_by(c.id.desc()).limit(1))
    since = [row.since for row in rows if not newest or row.since >= as_utc(newest[0].created_at)]
    return len(since) >= _SEVERAL and min(since) <= context.now - PATIENCE


@alarm(Severity.TODAY, OwnerPage("books"))
def differing_months(context: AlarmContext) -> Iterator[Alarm]:
    """Closed months with records that differ or could not be read, until a comparison finds none."""
    audits = context.models.audits
    differing = select(audits).where(audits.c.differs_since.is_not(None)).order_by(audits.c.month.desc())
    for row in read_rows(context.engine, differing):
        result = result_of(row._mapping)
        findings = [each for each in result.findings if context.account in (None, each.account)]
        if result.differs_since is None or not findings:
            continue
        count = result.found.differing if context.account is None else len(findings)
        accounts = {each.account for each in findings}
        yield Alarm(
            f"{number(count, 'record', 'records')} of {result.month} did not agree with the payment service, or could"
            " not be read",
            result.differs_since,
            count,
            accounts.pop() if len(accounts) == 1 else None,
            tuple(map(_finding_example, findings[:EXAMPLES])),
            (
                "What to do about each: the page Books, or the docs' page on closing the month.",
                f"Compare again: flask paycheckout audit --month {result.month}",
            ),
            of=result.month,
        )


def _finding_example(finding: Finding) -> Example:
    text = str(finding).partition("\n")[0]
    # A disbursement without a row here has a reference of the service, not of the shop.
    reference = None if finding.verdict is Verdict.MISSING_HERE else finding.reference
    return Example(text, finding.order_id, reference, name=text)


def alarm_about(context: AlarmContext, what: str, rows: Sequence[OrderProblem], *remedies: str, of: str = "") -> Alarm:
    """A single alarm about all these orders."""
    accounts = {row.account for row in rows}
    return Alarm(
        what,
        min(row.since for row in rows),
        len(rows),
        accounts.pop() if len(accounts) == 1 else None,
        tuple(problem_example(context, row) for row in rows[:EXAMPLES]),
        remedies,
        of=of,
    )


def problem_example(context: AlarmContext, row: OrderProblem) -> Example:
    """The example about one order."""
    subject = f"Order {row.order_id}" if row.order_id else "The owner's pages"
    due, due_in_name = (f", {text}" if text else "" for text in (row.due, _due_text(row.due, context.show)))
    text = f"{subject}{due}{account_text(row.account)}, last {moment_text(row.last_at)}"
    return Example(text, row.order_id or None, problem=row.error, name=f"{subject}{due_in_name}")


def _due_text(due: str | None, show: Show) -> str:
    """A stored total, such as "12.50 USD", in this notation; unchanged if it has more words."""
    amount, _, currency = (due or "").partition(" ")
    return stored_sum_text(amount, currency, show) if currency and " " not in currency else due or ""
