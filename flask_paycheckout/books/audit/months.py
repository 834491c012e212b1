"""The audits of closed months: reconcile compares each month once, with a limited number of reads per round.

One process compares a month at a time. If it dies, another process continues where it stopped.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import Any

import msgspec
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from flask_paycheckout.books.account_names import Merchants
from flask_paycheckout.books.audit.audit import Audit
from flask_paycheckout.books.audit.findings import Finding, Kind
from flask_paycheckout.books.audit.month_results import Comparison, MonthResult, results
from flask_paycheckout.books.audit.reading import Reads
from flask_paycheckout.books.export import Books
from flask_paycheckout.books.periods import Period, earlier, month_period
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.clock import EPOCH, as_utc
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed, who_and_why
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.errors import PayCheckoutError
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.sending import PayoutSender
from flask_paycheckout.wiring import Wiring

# The approximate maximum numbers of reads, and of pages of rows, in one round.
_READS, _PAGES = 40, 20
# The time after which a process that made no progress is considered dead.
_LEASE = timedelta(minutes=10)
# The pause after a round without answers of the service, and the time without answers after which that is a finding.
_AFTER_OUTAGE, _PATIENCE = timedelta(minutes=10), timedelta(days=1)
# The time for which a process that found nothing to compare does not search again.
_IDLE = timedelta(minutes=1)
# In some time zones a month begins hours before it does in UTC, and in others it ends hours later.
_BEFORE, _BEHIND = timedelta(hours=14), timedelta(hours=12)
_FROM_THE_BEGINNING = msgspec.json.encode(Comparison()).decode()


@dataclass(eq=False)
class MonthAudits:
    """Compares the months of one app with the service, and keeps the results."""

    wiring: Wiring
    books: Books
    merchants: Merchants
    calls: PayoutCalls
    settlement: Settlement
    sender: PayoutSender
    _idle_until: datetime = field(default=EPOCH, init=False)

    def compare_some(self) -> None:
        """Compare a part of a closed month that was not compared yet, or is to be compared again."""
        now = self.wiring.clock()
        if self._idle_until > now:
            return
        row = self._taken(now)
        if row is None:
            self._idle_until = now + _IDLE
        else:
            self._go_on(row)

    def compare(self, month: str) -> MonthResult | None:
        """Compare a closed month as a whole; returns the result, or None if the service does not answer.

        :raises ValueError: it is no month, or is not closed.
        """
        self.again(month)
        while (row := self._taken(self.wiring.clock(), month)) is not None:
            self._go_on(row)
        result = self.result(month)
        return None if result is None or result.under_way else result

    def result(self, month: str) -> MonthResult | None:
        """The last finished comparison of a month; None without one."""
        return results(self.wiring.engine(), self.wiring.models.audits).get(month)

    def again(self, month: str) -> None:
        """Have a closed month compared again by the next rounds of reconcile.

        :raises ValueError: it is no month, or is not closed.
        """
        now = self.wiring.clock()
        if not self.books.is_closed(_period_of(month), now):
            raise ValueError("month is not over everywhere yet; compare it later")
        if not self._changed(month, progress=_FROM_THE_BEGINNING, next_at=now, begun_at=now):
            self._begin(month, now, now)

    def settle(self, month: str, by: str, why: str) -> None:
        """Record that a person has settled the differences of a month; no comparison counts them again."""
        by, why = who_and_why(by, why)
        c, now, result = self.wiring.models.audits.c, self.wiring.clock(), self.result(month)
        if result is None:
            return
        with begin_limited(self.wiring.engine()) as connection:
            stored = connection.execute(select(c.settled).where(c.month == month)).scalar_one()
            settled = sorted({*msgspec.json.decode(stored or "[]"), *result.found.findings})
            values = {"settled": msgspec.json.encode(settled).decode(), "differs_since": None}
            connection.execute(update(self.wiring.models.audits).where(c.month == month).values(values))
            record_deed(connection, self.wiring.models.deeds, now, by, "settled", month, why)

    def _taken(self, now: datetime, only: str | None = None) -> Row | None:
        """The row of a month that this process compares now; None if there is nothing to compare.

        :param only: the only month to consider; None for all.
        """
        rows = {row.month: row._mapping for row in read_rows(self.wiring.engine(), select(self.wiring.models.audits))}
        for month, row in rows.items():
            if only in (None, month) and row["progress"] is not None and as_utc(row["next_at"]) <= now:
                taken = self._changed(month, seen=row["next_at"], next_at=now + _LEASE)
                return {**row, "next_at": now + _LEASE} if taken else None
        if self.wiring.settings.audit_months and only is None:
            # The newest month is not over.
            for month in self.books.months()[1:]:
                if month not in rows and self.books.is_closed(_period_of(month), now):
                    return self._begin(month, now, now + _LEASE)
        return None

    def _begin(self, month: str, now: datetime, next_at: datetime) -> Row | None:
        row = {"month": month, "begun_at": now, "progress": _FROM_THE_BEGINNING, "next_at": next_at, "settled": None}
        try:
            with begin_limited(self.wiring.engine()) as connection:
                connection.execute(insert(self.wiring.models.audits).values(row))
        except IntegrityError:
            # Another process has begun it.
            return None
        return row

    def _go_on(self, row: Row) -> None:
        comparison = msgspec.json.decode(row["progress"], type=Comparison)
        settled = frozenset(msgspec.json.decode(row["settled"] or "[]"))
        reads = Reads(max(1, self.wiring.settings.reconcile_readers // 2), Event(), patience=0.0)
        audit = Audit(
            self.wiring,
            _period_of(row["month"]),
            reads,
            self.merchants,
            self.calls,
            self.settlement,
            self._heal,
            page_size=_READS,
        )
        for pages, (place, findings) in enumerate(audit.run(comparison.place), start=1):
            now = self.wiring.clock()
            comparison.out_since = (comparison.out_since or now) if reads.is_out else None
            if comparison.out_since is not None and now < comparison.out_since + _PATIENCE:
                self._leave(row, comparison, _AFTER_OUTAGE)
                return
            comparison.add(findings, settled)
            comparison.place = place
            if reads.made >= _READS or pages >= _PAGES:
                self._leave(row, comparison, timedelta(0))
                return
        self._finish(row, comparison)

    def _heal(self, finding: Finding) -> None:
        """Read a differing record again, to apply the service's present answer before the second comparison."""
        with suppress(PaymentsError, PayCheckoutError):
            if finding.kind is Kind.DEPOSIT and finding.checkout_id is not None:
                self.settlement.settle(finding.checkout_id, again=True)
            elif finding.kind is Kind.DISBURSEMENT and finding.reference is not None:
                self.sender.read_again(finding.reference)

    def _leave(self, row: Row, comparison: Comparison, pause: timedelta) -> None:
        progress = msgspec.json.encode(comparison).decode()
        self._changed(row["month"], seen=row["next_at"], progress=progress, next_at=self.wiring.clock() + pause)

    def _finish(self, row: Row, comparison: Comparison) -> None:
        before, now = self.result(row["month"]), self.wiring.clock()
        since = before and before.differs_since
        self._changed(
            row["month"],
            seen=row["next_at"],
            progress=None,
            compared_at=row["begun_at"],
            result=msgspec.json.encode(comparison).decode(),
            differs_since=(since or now) if comparison.differing else None,
        )

    def _changed(self, month: str, seen: datetime | None = None, **values: Any) -> bool:
        """Change the row of a month; False if there is none.

        :param seen: the `next_at` that the row must have, so that a process that lost its lease changes nothing.
        """
        c = self.wiring.models.audits.c
        same = [] if seen is None else [c.next_at == seen]
        change = update(self.wiring.models.audits).where(c.month == month, *same).values(values)
        with begin_limited(self.wiring.engine()) as connection:
            return connection.execute(change).rowcount == 1


def _period_of(month: str) -> Period:
    """The period of a month in every time zone, so that it covers each merchant account's month."""
    period = month_period(month)
    start, end = period.start, period.end
    return Period(start and earlier(start, _BEFORE), end and end + _BEHIND)
