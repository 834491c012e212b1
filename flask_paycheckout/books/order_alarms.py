"""The alarms about functions of the shop that fail, orders whose checkout is refused, and months that differ.

Customers who could not pay because the service failed are told in `service_alarms`, with its failure or after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import select

from flask_paycheckout.books.alarms import EXAMPLES, PATIENCE, Alarm, Example, Look, OwnerPage, Severity, alarm, number
from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.month_results import result_of
from flask_paycheckout.checkouts.order_problems import DESCRIBING, OrderProblem, ProblemKind
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.text import Show, account_text, moment_text, stored_sum_text

_SHOW = "Look into one: flask paycheckout show ORDER_ID"
# Problems without an alarm of their own.
_FUNCTIONS = {*ProblemKind} - {ProblemKind.REFUSED, ProblemKind.UNAVAILABLE, *DESCRIBING}
# With so many different orders refused in a row, none of an account can be paid.
_SEVERAL = 2


@alarm(Severity.NOW)
def failing_functions(look: Look) -> Iterator[Alarm]:
    """A function of the shop that raises: orders cannot be paid, or people not let in. One alarm for each function."""
    return _failing(look, _FUNCTIONS)


@alarm(Severity.TODAY)
def failing_descriptions(look: Look) -> Iterator[Alarm]:
    """A function of the shop that raises, so that pages show no customers, or find none. One alarm for each."""
    return _failing(look, DESCRIBING)


def _failing(look: Look, kinds: Collection[ProblemKind]) -> Iterator[Alarm]:
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
    found: dict[str, list[OrderProblem]] = {}
    for problem in look.order_problems:
        if problem.kind == ProblemKind.REFUSED:
            found.setdefault(problem.account, []).append(problem)
    return found


def _nobody_can_pay(look: Look, account: str, rows: list[OrderProblem]) -> bool:
    c = look.checkouts
    newest = read_rows(look.engine, select(c.created_at).where(c.account == account).order_by(c.id.desc()).limit(1))
    since = [row.since for row in rows if not newest or row.since >= as_utc(newest[0].created_at)]
    return len(since) >= _SEVERAL and min(since) <= look.now - PATIENCE


@alarm(Severity.TODAY, OwnerPage("books", "See what differs"))
def differing_months(look: Look) -> Iterator[Alarm]:
    """Closed months of which something does not agree, or could not be read, until they are compared without it."""
    audits = look.models.audits
    differing = select(audits).where(audits.c.differs_since.is_not(None)).order_by(audits.c.month.desc())
    for row in read_rows(look.engine, differing):
        result = result_of(row._mapping)
        findings = [each for each in result.findings if look.account in (None, each.account)]
        if result.differs_since is None or not findings:
            continue
        count = result.found.differing if look.account is None else len(findings)
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
    # The reference of a disbursement that no row here knows is the service's.
    reference = None if finding.verdict is Verdict.MISSING_HERE else finding.reference
    return Example(text, finding.order_id, reference, name=text)


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
