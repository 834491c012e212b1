"""The alarms about closed months that do not agree with the service, and about an owner who is not told of alarms."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select

from flask_paycheckout.books.alarms import EXAMPLES, Alarm, Example, Look, OwnerPage, Severity, alarm, number
from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.month_results import results
from flask_paycheckout.clock import as_utc


@alarm(Severity.TODAY, OwnerPage("books", "See what differs"))
def differing_months(look: Look) -> Iterator[Alarm]:
    """Closed months of which something does not agree, or could not be read, until they are compared without it."""
    for result in results(look.engine, look.models.audits):
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
            tuple(map(_example, findings[:EXAMPLES])),
            (
                "What to do about each: the page Books, or the docs' page on closing the month.",
                f"Compare again: flask paycheckout audit --month {result.month}",
            ),
            of=result.month,
        )


def _example(finding: Finding) -> Example:
    text = str(finding).partition("\n")[0]
    # The reference of a disbursement that no row here knows is the service's.
    reference = None if finding.verdict is Verdict.MISSING_HERE else finding.reference
    return Example(text, finding.order_id, reference, name=text)


@alarm(Severity.TODAY)
def owner_not_told(look: Look) -> Iterator[Alarm]:
    """The shop's function that is told of alarms raises."""
    c = look.models.alarms.c
    for problem, since in look.rows(select(c.problem, c.problem_since).where(c.problem.is_not(None))):
        example = Example(f"tell_owner raised {problem}; the log of reconcile has the rest")
        yield Alarm("Nobody is told of alarms", as_utc(since), examples=(example,), remedies=("Repair tell_owner.",))
