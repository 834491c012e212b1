"""The results of audits, kept so that the owner's page of a month can tell the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex

import msgspec
from sqlalchemy import Engine, Table, select

from flask_paycheckout.books.periods import Period
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.database.connections import read_rows

# Rows of the table of failing calls: `words` holds the result as JSON.
_OPERATION = "audit "
_KEPT_FOR = timedelta(days=400)


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit that came to its end."""

    at: datetime
    """The time when it began."""

    period: Period
    """The period that was compared; it ends at the latest when the audit begins."""

    counts: Mapping[str, int]
    """How many deposits, disbursements and bookings have each verdict, such as `agreed` and `differs`."""

    @property
    def differences(self) -> int:
        """How many do not agree, or could not be read."""
        return sum(count for verdict, count in self.counts.items() if verdict != "agreed")

    def covers(self, period: Period, now: datetime) -> bool:
        """Whether it compared everything of a period; of one that is not over, everything until the audit."""
        mine, until = self.period, period.end
        if mine.account not in (None, period.account) or mine.end is None or until is None:
            return False
        begins = (mine.start or EPOCH) <= (period.start or EPOCH)
        return begins and mine.end >= (until if until <= now else min(self.at, until))


def store_audit(engine: Engine, services: Table, result: AuditResult) -> None:
    """Keep a result, for somewhat more than a year.

    :param services: the table of `database.service_table`.
    """
    c, words = services.c, msgspec.json.encode(result).decode()
    row = {"account": "", "operation": f"{_OPERATION}{token_hex(13)}", "last_answer_at": result.at, "words": words}
    with engine.begin() as connection:
        old = c.operation.startswith(_OPERATION) & (c.last_answer_at <= result.at - _KEPT_FOR)
        connection.execute(services.delete().where(old))
        connection.execute(services.insert().values(row))


def last_audit(engine: Engine, services: Table, period: Period, now: datetime) -> AuditResult | None:
    """The newest result that covers a period; None when no audit did."""
    c = services.c
    stored = select(c.words).where(c.operation.startswith(_OPERATION)).order_by(c.last_answer_at.desc())
    results = [msgspec.json.decode(words, type=AuditResult) for (words,) in read_rows(engine, stored)]
    return next((result for result in results if result.covers(period, now)), None)
