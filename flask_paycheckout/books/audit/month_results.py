"""The table of the audits of months, with the progress and the last result of each."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec
from sqlalchemy import Column, Engine, String, Table, Text, select

from flask_paycheckout.books.audit.findings import Facts, Finding, Verdict
from flask_paycheckout.books.audit.rows import BEGIN, AuditPlace
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.database.state_table import Row

_NAME = "paycheckout_audit"
# The maximum number of differences of a month that are stored one by one.
_MOST = 500
# Values with personal data, which are not stored; they are read again when somebody needs them.
_OF_PERSONS = frozenset({"destination", "note"})


def audit_table(beside: Table) -> Table:
    """Define the table once, in the metadata of another table of ours, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        # The month, like 2026-01.
        Column("month", String(7), primary_key=True),
        # The time when the present, or the last, comparison began.
        Column("begun_at", MOMENT, nullable=False),
        # The findings of the present comparison so far, as JSON; NULL when none is under way.
        Column("progress", Text),
        # The time after which a process may continue the comparison.
        Column("next_at", MOMENT, nullable=False),
        # The time when the last finished comparison began.
        Column("compared_at", MOMENT),
        # The findings of the last finished comparison, as JSON.
        Column("result", Text),
        # The differences that a person has settled, as JSON; a later comparison does not count them again.
        Column("settled", Text),
        # The time of the first comparison with a difference since the last one without.
        Column("differs_since", MOMENT),
        schema=beside.schema,
        keep_existing=True,
    )


class Comparison(msgspec.Struct):
    """The findings of a comparison of a month."""

    place: AuditPlace = BEGIN
    """The place where the comparison continues."""

    agreed: int = 0
    differing: int = 0
    """The number of records that differ, or could not be read."""

    out_since: datetime | None = None
    """The time since when the service does not answer; None while it does."""

    findings: dict[str, Finding] = msgspec.field(default_factory=dict)
    """The first of these, without personal data, by `difference_of`."""

    @property
    def total(self) -> int:
        """The number of compared records."""
        return self.agreed + self.differing

    def add(self, findings: Iterable[Finding], settled: Container[str]) -> None:
        """Count findings; one that is added twice counts once.

        :param settled: the differences that a person has settled, by `difference_of`.
        """
        for finding in findings:
            difference = difference_of(finding)
            if finding.verdict is Verdict.AGREED or difference in settled:
                self.agreed += 1
            elif difference not in self.findings:
                self.differing += 1
                if len(self.findings) < _MOST:
                    here, there = _without_persons(finding.here), _without_persons(finding.there)
                    self.findings[difference] = replace(finding, here=here, there=there)


def difference_of(finding: Finding) -> str:
    """The key of a difference: its subject and the differing values; the same in each comparison."""
    ids = finding.reference, finding.checkout_id, finding.disbursement_id
    # A list of disbursements has only its account.
    about = ids if any(ids) else (finding.account,)
    return "/".join(map(str, (finding.kind, *about, finding.verdict, *finding.differences)))


class MonthResult(msgspec.Struct, frozen=True):
    """The last finished comparison of a month."""

    month: str
    at: datetime
    """The time when it began."""

    found: Comparison
    differs_since: datetime | None
    """The time of the first comparison with a difference since the last one without; None once all are settled."""

    under_way: bool
    """Whether the month is being compared again."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The records that differ, or could not be read; the first ones, if there are many."""
        return list(self.found.findings.values())


def results(engine: Engine, audits: Table) -> dict[str, MonthResult]:
    """The results of the months that were compared, by month, newest first."""
    rows = select(audits).where(audits.c.compared_at.is_not(None)).order_by(audits.c.month.desc())
    return {row.month: result_of(row._mapping) for row in read_rows(engine, rows)}


def result_of(row: Row) -> MonthResult:
    """The result that a month's row stores."""
    found, since = msgspec.json.decode(row["result"], type=Comparison), row["differs_since"]
    under_way = row["progress"] is not None
    return MonthResult(row["month"], as_utc(row["compared_at"]), found, since and as_utc(since), under_way)


def _without_persons(side: Facts | None) -> Facts | None:
    return side and {name: value for name, value in side.items() if name not in _OF_PERSONS}
