"""The export of the books: every movement of money of a period once, as CSV or JSON lines, with totals."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import islice

from flask_paycheckout.books.forms import COLUMNS, csv_cells, json_line
from flask_paycheckout.books.lines import EXACT, Line, LineKind
from flask_paycheckout.books.movements import PAGE, Movements, Period

__all__ = ["Export", "Format", "Totals", "moment_of", "month_period", "months_until"]

_OPEN_FOR = timedelta(minutes=5)
"""A transaction books with the time at which it began; by then it has ended, where the database does not say more."""

_COMMITS_WITHIN = timedelta(minutes=1)
"""The time between the moment that is booked and the begin of the transaction that books it, at most."""

_NAMED = 10
_MONTHS = 120

Progress = Callable[[int], object]


class Format(StrEnum):
    """The formats of an export."""

    CSV = "csv"
    JSONL = "jsonl"


@dataclass(frozen=True)
class Totals:
    """The sums of one merchant account and currency."""

    payments: Decimal = Decimal(0)
    held: Decimal = Decimal(0)
    """Money that arrived and paid no order."""

    fees: Decimal = Decimal(0)
    refunds: Decimal = Decimal(0)
    """Refunds less those that came back; negative, as money went out."""

    payouts: Decimal = Decimal(0)
    """Payouts less those that came back; negative, as money went out."""

    net: Decimal = Decimal(0)
    received: Decimal = Decimal(0)
    """What the shop receives of payments, in this currency."""

    def __add__(self, other: Totals) -> Totals:
        names = [one.name for one in fields(self)]
        return Totals(*(EXACT.add(getattr(self, name), getattr(other, name)) for name in names))


_COUNTED_AS = {
    LineKind.PAYMENT: "payments",
    LineKind.HELD: "held",
    LineKind.PAYMENT_RETURNED: "held",
    LineKind.REFUND: "refunds",
    LineKind.REFUND_RETURNED: "refunds",
    LineKind.PAYOUT: "payouts",
    LineKind.PAYOUT_RETURNED: "payouts",
}


@dataclass
class Export:
    """An export of one period. Read `lines` or `text` once; the sums and counts cover what was read so far."""

    movements: Movements
    period: Period
    asked_at: datetime
    count: int = 0
    """The number of lines."""

    totals: dict[tuple[str, str], Totals] = field(default_factory=dict)
    """The sums by account and currency."""

    incomplete: int = 0
    """The number of lines of which the service did not report an amount, or not its currency."""

    incomplete_named: list[str] = field(default_factory=list)
    """The checkout ids of the first ten."""

    def lines(self, progress: Progress | None = None) -> Iterator[Line]:
        """The lines, oldest first.

        :param progress: called now and then with the number of lines that were read since its last call.
        """
        lines = self.movements.read(self.period)
        while part := list(islice(lines, PAGE)):
            for line in part:
                self._add(line)
                yield line
            if progress is not None:
                progress(len(part))

    def text(self, form: Format, progress: Progress | None = None) -> Iterator[str]:
        """The export as text, in parts of some lines."""
        lines = self.lines(progress)
        if form is Format.CSV:
            yield _as_csv([[*COLUMNS]])
        while part := list(islice(lines, PAGE)):
            yield _as_csv(map(csv_cells, part)) if form is Format.CSV else "".join(map(json_line, part))

    def closed(self) -> bool:
        """Whether no movement can be added to the period any more, because everything that could has ended."""
        if self.period.end is None:
            return False
        oldest = self.movements.oldest_write()
        open_for = max(_OPEN_FOR, oldest and oldest + _COMMITS_WITHIN)
        return self.period.end <= self.asked_at - open_for

    def _add(self, line: Line) -> None:
        self.count += 1
        if line.gross is None or line.fee is None:
            self.incomplete += 1
            if len(self.incomplete_named) < _NAMED and line.checkout_id not in self.incomplete_named:
                self.incomplete_named.append(str(line.checkout_id))
        if line.currency is not None:
            sums = {"net": line.net or Decimal(0), "fees": line.fee or Decimal(0)}
            if line.kind in _COUNTED_AS:
                sums[_COUNTED_AS[line.kind]] = line.gross or Decimal(0)
            self._sum(line.account, line.currency, Totals(**sums))
        if line.received is not None and line.received_currency is not None and line.reference is None:
            self._sum(line.account, line.received_currency, Totals(received=line.received))

    def _sum(self, account: str, currency: str, more: Totals) -> None:
        self.totals[account, currency] = self.totals.get((account, currency), Totals()) + more


def _as_csv(rows: Iterator[list[str]] | list[list[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerows(rows)
    return written.getvalue()


def moment_of(given: datetime | date | str) -> datetime:
    """A date or time, also as text in ISO 8601; a date is its first moment, and without an offset it is in UTC.

    :raises ValueError: it is neither.
    """
    try:
        text = given.strip() if isinstance(given, str) else given.isoformat()
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{given!r} is no date or time; write it like 2026-01-31 or 2026-01-31T18:30:00Z") from None


def month_period(month: str, account: str | None = None) -> Period:
    """The period of a month in UTC.

    :param month: like `2026-01`.
    :raises ValueError: it is no month.
    """
    try:
        start = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
        # A day of the following month, however long this one is.
        following = start + timedelta(days=31)
    except (ValueError, OverflowError):
        raise ValueError(f"{month!r} is no month; write it like 2026-01") from None
    return Period(start, following.replace(day=1), account)


def months_until(now: datetime, first: datetime | None) -> list[str]:
    """The months from the first movement until now, newest first; none without a movement. Like `2026-01`."""
    if first is None:
        return []
    count = (now.year - first.year) * 12 + now.month - first.month + 1
    newest = now.year * 12 + now.month - 1
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in range(newest, newest - min(count, _MONTHS), -1)]
