"""The table of the audits of months: how far each has come, and the last result."""

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
# The differences of a month that are kept one by one.
_MOST = 500
# Values that tell of persons; they are read again where somebody needs them.
_OF_PERSONS = frozenset({"destination", "note"})


def audit_table(beside: Table) -> Table:
    """The table in the metadata of another one of ours, defined by the first call, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        # Like 2026-01.
        Column("month", String(7), primary_key=True),
        # The time when the present, or the last, comparison began.
        Column("begun_at", MOMENT, nullable=False),
        # What the present comparison has found until now, as JSON; NULL when none is under way.
        Column("progress", Text),
        # The time from which on a process may go on with it.
        Column("next_at", MOMENT, nullable=False),
        # The time when the last comparison that came to its end began.
        Column("compared_at", MOMENT),
        # What it has found, as JSON.
        Column("result", Text),
        # The differences that a person has settled, as JSON; a later comparison does not count them again.
        Column("settled", Text),
        # The time of the first comparison with a difference since the last one without.
        Column("differs_since", MOMENT),
        schema=beside.schema,
        keep_existing=True,
    )


class Comparison(msgspec.Struct):
    """What a comparison of a month has found."""

    place: AuditPlace = BEGIN
    """Where it goes on."""

    agreed: int = 0
    differing: int = 0
    """How many do not agree, or could not be read."""

    out_since: datetime | None = None
    """The time since when the service does not answer; None while it does."""

    findings: dict[str, Finding] = msgspec.field(default_factory=dict)
    """Of these the first ones, without what tells of persons, by what each is about."""

    @property
    def total(self) -> int:
        """How many were compared."""
        return self.agreed + self.differing

    def add(self, findings: Iterable[Finding], settled: Container[str]) -> None:
        """Count some findings, of which a list may show one twice.

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
    """A difference by what it is about and what differs, the same in each comparison."""
    about = finding.kind, finding.reference, finding.checkout_id, finding.disbursement_id
    return "/".join(map(str, (*about, finding.verdict, *finding.differences)))


class MonthResult(msgspec.Struct, frozen=True):
    """The last comparison of a month that came to its end."""

    month: str
    at: datetime
    """The time when it began."""

    found: Comparison
    differs_since: datetime | None
    """The time of the first comparison with a difference since the last one without; None also once all are settled."""

    under_way: bool
    """Whether the month is being compared again."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What does not agree, or could not be read; the first ones, if there are many."""
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
