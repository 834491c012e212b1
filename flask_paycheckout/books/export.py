"""The books of a period: every movement of money once, oldest first, with sums, as records, CSV or JSON lines.

Each page is a short read-only transaction that begins where the page before ended. An export of any length therefore
holds no snapshot, no lock and only one page of rows. A closed period gives the same lines however often it is read.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from enum import StrEnum
from functools import cached_property, partial
from itertools import chain
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Engine, Executable, func, select, text

from flask_paycheckout.books import accounting
from flask_paycheckout.books.audit.month_results import MonthResult, results
from flask_paycheckout.books.customers import Customers
from flask_paycheckout.books.figures import REFUNDS, listed, sum_of
from flask_paycheckout.books.ledger import Line, LineKind
from flask_paycheckout.books.lists import pages
from flask_paycheckout.books.periods import Period, month_period, months_until
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.clock import EPOCH, as_utc
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.text import account_text, csv_text, plain
from flask_paycheckout.totals import EXACT
from flask_paycheckout.wiring import Wiring

PAGE = 1000
"""The maximum number of rows in memory at once."""

COLUMNS = Line._fields
"""The columns of an export, in this order."""

ACCOUNTING_DELIMITER = ";"
"""The default delimiter of a file for bookkeepers, which spreadsheets of many countries expect."""

_OPEN_FOR = timedelta(minutes=5)
"""The time after which a transaction counts as ended, if the database does not show it; it books with its begin."""

_COMMITS_WITHIN = timedelta(minutes=1)
"""The maximum time between the booked time and the begin of the transaction that books it."""

_OLDEST_WRITE = text(
    "SELECT extract(epoch FROM clock_timestamp() - min(xact_start)) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()"
)
_NAMED = 10
# The seconds that a file waits for the shop's descriptions of `PAGE` orders.
_FILE = 10.0
_ZERO = Decimal(0)
_SUMMED = ("account", "kind", "reference", "currency", "gross", "fee", "net", "received", "received_currency")

Progress = Callable[[int], object]


class Format(StrEnum):
    """The formats of an export."""

    CSV = "csv"
    JSONL = "jsonl"
    ACCOUNTING = "accounting"
    """CSV for bookkeepers and spreadsheets."""

    @property
    def extension(self) -> str:
        """The end of a file's name."""
        return "jsonl" if self is Format.JSONL else "csv"


TOTALS = ("payments", "held", "fees", "refunds", "payouts", "net", "received")
"""The sums of one merchant account and currency: `held` is money that paid no order; refunds and payouts are negative,
less the ones that came back; `received` is the amount that the shop receives of payments, in this currency."""

SALES_FEES, OTHER_FEES = "fees of sales", "other fees"
"""Two more sums: the fees of payments, and all other fees that lower the net amount."""

_COUNTED_AS = {
    LineKind.PAYMENT: "payments",
    LineKind.HELD: "held",
    LineKind.REFUND: "refunds",
    LineKind.PAYOUT: "payouts",
}


@dataclass
class Sums:
    """The sums of some lines of the books."""

    lines: int = 0
    """The number of lines."""

    totals: dict[tuple[str, str], dict[str, Decimal]] = field(default_factory=dict)
    """For each account and currency, the sums named in `TOTALS`, and `SALES_FEES` and `OTHER_FEES`."""

    incomplete: int = 0
    """The number of lines that cannot be read, or lack an amount or currency because the service reported none."""

    def add(self, line: Line, times: int) -> None:
        """Add a number of lines that are equal in all summed columns."""
        self.lines += times
        if line.gross is None or line.fee is None:
            self.incomplete += times
        counted = {"net": (line.net, line.currency), "fees": (line.fee, line.currency)}
        if line.kind is LineKind.PAYMENT:
            counted[SALES_FEES] = counted["fees"]
        elif line.gross is not None and line.net is not None:
            # Fees of payouts that are included in the sent amount are not counted.
            counted[OTHER_FEES] = EXACT.subtract(line.gross, line.net), line.currency
        if line.kind is not LineKind.FEE:
            counted[_COUNTED_AS[line.kind.base]] = line.gross, line.currency
        if line.reference is None:
            counted["received"] = line.received, line.received_currency
        for name, (amount, currency) in counted.items():
            if amount is not None and currency is not None:
                zeros = dict.fromkeys((*TOTALS, SALES_FEES, OTHER_FEES), _ZERO)
                sums = self.totals.setdefault((line.account, currency), zeros)
                sums[name] = EXACT.fma(amount, Decimal(times), sums[name])


@dataclass(frozen=True)
class Month:
    """One month of the books."""

    name: str
    """The month, like `2026-01`."""

    period: Period
    sums: Sums
    closed: bool
    """Whether no movement can be added to the month any more."""

    audit: MonthResult | None
    """The last finished comparison with the service; None without one."""


class UnreadableBookings(ValueError):
    """Some bookings of a period cannot be read, because another program changed them; all others were read."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = ids
        # Pickle calls the class with these arguments.
        super().__init__(ids)

    def __str__(self) -> str:
        more = " and more" if len(self.ids) > _NAMED else ""
        return f"{len(self.ids)} bookings cannot be read, by id: {', '.join(map(str, self.ids[:_NAMED]))}{more}"


@dataclass(frozen=True)
class Books:
    """Reads the books of one app."""

    wiring: Wiring
    zone_of: Callable[[str | None], tzinfo]
    """Returns the time zone of a merchant account's days and months; for None, the shop's."""

    customers: Customers

    def lines(self, period: Period) -> Iterator[Line]:
        """The lines of a period, oldest first.

        :raises UnreadableBookings: some bookings cannot be read; raised after all others are returned.
        """
        return chain.from_iterable(self._pages(period))

    def text(
        self,
        period: Period,
        form: Format,
        progress: Progress | None = None,
        delimiter: str | None = None,
        decimal_mark: str = ".",
    ) -> Iterator[str]:
        """An export of a period as text, in chunks of lines.

        :param progress: called after each chunk with its number of lines.
        :param delimiter: the character between two columns, if `form` is for bookkeepers.
        :param decimal_mark: the mark before decimals, if `form` is for bookkeepers.
        :raises UnreadableBookings: as for `lines`.
        """
        begin, written = self._form(period, form, delimiter, decimal_mark)
        yield begin
        for part in self._pages(period):
            yield written(part)
            if progress is not None:
                progress(len(part))

    def _form(
        self, period: Period, form: Format, delimiter: str | None, decimal_mark: str
    ) -> tuple[str, Callable[[Sequence[Line]], str]]:
        """The beginning of a file, and the function that formats lines of it."""
        if form is Format.JSONL:
            return "", _as_json
        if form is Format.CSV:
            return _as_csv([COLUMNS]), lambda part: _as_csv(map(csv_cells, part))
        zone, codes = self.zone_of(period.account), self.wiring.settings.account_codes
        rows = partial(_as_csv, delimiter=delimiter or ACCOUNTING_DELIMITER)

        def written(part: Sequence[Line]) -> str:
            orders = self.customers.described([line.order_id for line in part if line.order_id], _FILE)
            return rows(accounting.accounting_cells(line, zone, codes, orders, decimal_mark) for line in part)

        return accounting.MARK + rows([accounting.COLUMNS]), written

    def record_export(self, period: Period, by: str) -> None:
        """Record the deed of the person who exports a period."""
        wiring, subject = self.wiring, period.text + account_text(period.account or "")
        with begin_limited(wiring.engine()) as connection:
            record_deed(connection, wiring.models.deeds, wiring.clock(), by, "exported", subject)

    def count(self, period: Period) -> int:
        """The number of lines of a period."""
        return int(self._value(select(func.count(self.wiring.models.bookings.c.id)).where(*self._within(period))))

    def months(self, account: str | None = None) -> list[str]:
        """The months from the first movement until now, newest first; like `2026-01`.

        :param account: only what is of this merchant account.
        """
        at = self.wiring.models.bookings.c.booked_at
        first = self._value(select(func.min(at)).where(*self._within(Period(account=account))))
        return [] if first is None else months_until(self.wiring.clock(), as_utc(first), self.zone_of(account))

    def month(self, name: str, account: str | None = None) -> Month:
        """One month: its sums by account and currency, whether it is closed, and the last audit of it.

        :param name: like `2026-01`.
        :param account: only what is of this merchant account.
        :raises ValueError: it is no month.
        """
        period, now = month_period(name, self.zone_of(account), account), self.wiring.clock()
        audited = results(self._reading, self.wiring.models.audits)
        return Month(name, period, self.sums(period), self.is_closed(period, now), audited.get(name))

    def sums(self, period: Period) -> Sums:
        """The sums of a period; equal amounts are added by the database."""
        c, sums = self.wiring.models.bookings.c, Sums()
        same = [c[name] for name in _SUMMED]
        grouped = select(*same, func.count().label("lines")).where(*self._within(period)).group_by(*same)
        with self._reading.connect() as connection:
            for row in connection.execute(grouped).mappings():
                try:
                    line = line_of(dict.fromkeys(COLUMNS) | {"booked_at": EPOCH} | dict(row))
                except msgspec.ValidationError:
                    sums.lines += row["lines"]
                    sums.incomplete += row["lines"]
                else:
                    sums.add(line, row["lines"])
        return sums

    def given_back(self, period: Period) -> dict[tuple[str, str], Decimal]:
        """The sums of refunds of money that paid no order, by account and currency; negative like their lines."""
        c, paid = self.wiring.models.bookings.c, self.wiring.models.checkouts.c
        unpaid = paid.status.in_([Status.PAID, Status.REJECTED]) & paid.paid_order_id.is_(None)
        rows = select(c.account, c.currency, listed(c.gross)).join(paid.id.table, paid.checkout_id == c.checkout_id)
        refunds = rows.where(c.kind.in_(REFUNDS), c.currency.is_not(None), unpaid, *self._within(period))
        rows_of_sums = read_rows(self._reading, refunds.group_by(c.account, c.currency))
        return {(account, currency): sum_of(amounts) for account, currency, amounts in rows_of_sums}

    def is_closed(self, period: Period, at: datetime) -> bool:
        """Whether all transactions that could add a movement to the period have ended at a time."""
        if period.end is None:
            return False
        oldest = self._oldest_write()
        return period.end <= at - max(_OPEN_FOR, oldest and oldest + _COMMITS_WITHIN)

    def _oldest_write(self) -> timedelta:
        """The age of the oldest open transaction that has written; zero if the database does not show it."""
        if self._reading.dialect.name != "postgresql":
            return timedelta(0)
        return timedelta(seconds=float(self._value(_OLDEST_WRITE) or 0))

    def _pages(self, period: Period) -> Iterator[list[Line]]:
        # Bookings of the same moment come in the order in which they were stored.
        rows = select(self.wiring.models.bookings).where(*self._within(replace(period, start=None)))
        # A booking that cannot be read must not stop the others.
        unreadable: list[int] = []
        after = None if period.start is None else (period.start, 0)
        for page in pages(self._reading, rows, ["booked_at", "id"], PAGE, after):
            part = []
            for row in page:
                try:
                    part.append(line_of(row))
                except msgspec.ValidationError:
                    unreadable.append(row["id"])
            yield part
        if unreadable:
            raise UnreadableBookings(unreadable)

    @cached_property
    def _reading(self) -> Engine:
        return self.wiring.engine().execution_options(postgresql_readonly=True)

    def _value(self, statement: Executable) -> Any:
        return read_rows(self._reading, statement)[0][0]

    def _within(self, period: Period) -> list[ColumnElement[bool]]:
        table = self.wiring.models.bookings
        return period.conditions(table, table.c.booked_at)


def line_of(row: Row) -> Line:
    """The line in a booking's row, which maps columns by name."""
    values = {**row, "booked_at": as_utc(row["booked_at"])}
    return msgspec.convert([values[name] for name in COLUMNS], Line)


def csv_cells(line: Line) -> list[str]:
    """The cells of a line. A text that begins like a formula, or with an apostrophe, gets an apostrophe before it.

    Control characters are escaped, so that no stranger's text breaks a line or changes a terminal.
    """
    cells = zip(line, _exact(line).values(), strict=True)
    return [csv_text(value) if isinstance(value, str) else cell or "" for value, cell in cells]


def _exact(line: Line) -> dict[str, str | None]:
    """A line for JSON, with amounts as exact text, and None for values that the service did not report."""
    # Times always have the same number of digits, so that lines can be sorted as text.
    return {**plain(line._asdict()), "booked_at": line.booked_at.isoformat(timespec="microseconds")}


def _as_json(part: Sequence[Line]) -> str:
    return "".join(json.dumps(_exact(line)) + "\n" for line in part)


def _as_csv(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return written.getvalue()
