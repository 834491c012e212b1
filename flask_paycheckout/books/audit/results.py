"""The results of audits, kept so that the owner's page of a month can tell the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

import msgspec
from sqlalchemy import Engine, Table, select

from flask_paycheckout.books.periods import Period

# Rows of the table of failing calls: `words` holds the result as JSON.
_OPERATION = "audit "
_KEPT_FOR = timedelta(days=400)


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit that came to its end."""

    at: datetime
    since: datetime | None
    """The beginning of its period; None for the first payment."""

    until: datetime
    """The end of its period, not included; at the latest the time of the audit."""

    account: str | None
    """The merchant account that it was limited to; None for all."""

    counts: Mapping[str, int]
    """How many deposits, disbursements and bookings have each verdict, such as `agreed` and `differs`."""

    @property
    def differences(self) -> int:
        """How many do not agree, or could not be read."""
        return sum(count for verdict, count in self.counts.items() if verdict != "agreed")

    def covers(self, period: Period, now: datetime) -> bool:
        """Whether it compared everything of a period; of one that is not over, everything until the audit."""
        if self.account not in (None, period.account) or period.end is None:
            return False
        begins = self.since is None or (period.start is not None and self.since <= period.start)
        return begins and self.until >= (period.end if period.end <= now else min(self.at, period.end))


def store_audit(engine: Engine, services: Table, result: AuditResult) -> None:
    """Keep a result, for somewhat more than a year.

    :param services: the table of `database.service_table`.
    """
    c, words = services.c, msgspec.json.encode(result).decode()
    row = {"account": "", "operation": f"{_OPERATION}{uuid4()}", "last_answer_at": result.at, "words": words}
    with engine.begin() as connection:
        old = c.operation.startswith(_OPERATION) & (c.last_answer_at <= result.at - _KEPT_FOR)
        connection.execute(services.delete().where(old))
        connection.execute(services.insert().values(row))


def last_audit(engine: Engine, services: Table, period: Period, now: datetime) -> AuditResult | None:
    """The newest result that covers a period; None when no audit did."""
    c = services.c
    stored = select(c.words).where(c.operation.startswith(_OPERATION)).order_by(c.last_answer_at.desc())
    with engine.connect() as connection:
        results = [msgspec.json.decode(words, type=AuditResult) for words in connection.execute(stored).scalars()]
    return next((result for result in results if result.covers(period, now)), None)
