"""Backfill of the bookings of payouts that older versions sent, from the histories of the payouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func, select, update

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.books import booked_as
from flask_paycheckout.rules.payout_states import PayoutKind, PayoutStatus
from flask_paycheckout.store.bookings import booking_row
from flask_paycheckout.store.history import Entry, lines
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.movements import BOOKED_STATES

__all__ = ["BookingBackfill", "BookingReport"]

_PORTION = 500

Row = Mapping[Any, Any]
Progress = Callable[[int], object]


@dataclass(frozen=True)
class BookingReport:
    """The counts of one run."""

    checked: int = 0
    """The number of payouts whose history was read."""

    booked: int = 0
    """The number of movements that are booked now."""

    after: int = 0
    """The row id after which the next run continues."""


class BookingBackfill:
    """Books the movements of payouts that no booking tells of, at the time that their history tells.

    Runs can be stopped, repeated, and overlap with each other and with a shop that pays out: a payout is locked while
    its bookings are compared, and what is booked never changes.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models) -> None:
        self._engine = engine
        self._models = models

    def count(self, after: int = 0) -> int:
        """Count the payouts whose history is to be read."""
        counted = select(func.count()).select_from(self._models.payouts).where(self._models.payouts.c.id > after)
        with self._engine().connect() as connection:
            return connection.execute(counted).scalar_one()

    def run(self, limit: int | None = None, after: int = 0, progress: Progress | None = None) -> BookingReport:
        """Book what is missing, oldest payout first, in one small transaction for each payout that lacks something.

        :param limit: the most payouts to read; None for all.
        :param after: the `after` of an earlier run's report, to continue there.
        :param progress: called with the number of payouts that were read since its last call.
        """
        report = BookingReport(after=after)
        while rows := self._rows(report.after, _PORTION if limit is None else min(_PORTION, limit - report.checked)):
            lacking = self._lacking(rows)
            booked = sum(self._book(row) for row in lacking)
            report = replace(
                report, checked=report.checked + len(rows), booked=report.booked + booked, after=rows[-1]["id"]
            )
            if progress is not None:
                progress(len(rows))
        return report

    def _rows(self, after: int, limit: int) -> Sequence[Row]:
        table = self._models.payouts
        portion = select(table).where(table.c.id > after).order_by(table.c.id).limit(limit)
        if limit <= 0:
            return []
        with self._engine().connect() as connection:
            return connection.execute(portion).mappings().all()

    def _lacking(self, rows: Sequence[Row]) -> list[Row]:
        """The payouts of which a movement is not booked."""
        b = self._models.bookings.c
        known = select(b.service_reference, b.kind).where(b.reference.in_([row["reference"] for row in rows]))
        with self._engine().connect() as connection:
            booked = {(reference, kind) for reference, kind in connection.execute(known)}
        return [row for row in rows if any(_key(booking) not in booked for booking in bookings_of(row))]

    def _book(self, row: Row) -> int:
        payouts, bookings = self._models.payouts, self._models.bookings
        unmoved = payouts.c.id == row["id"]
        with self._engine().begin() as connection:
            # The row's lock: a move of this payout books in its own transaction, before or after this one.
            connection.execute(update(payouts).where(unmoved).values(changes=payouts.c.changes))
            now = connection.execute(select(payouts).where(unmoved)).mappings().one()
            known = select(bookings.c.service_reference, bookings.c.kind)
            booked = {
                (reference, kind)
                for reference, kind in connection.execute(known.where(bookings.c.reference == now["reference"]))
            }
            missing = [booking for booking in bookings_of(now) if _key(booking) not in booked]
            if missing:
                connection.execute(bookings.insert(), missing)
        return len(missing)


def bookings_of(payout: Row) -> list[dict[str, Any]]:
    """The rows that should book a payout's movements, as its history tells them, oldest first.

    :param payout: its row, every column by its name.
    """
    return list(_told(payout)) or list(_untold(payout))


def _told(payout: Row) -> Iterator[dict[str, Any]]:
    entries = [entry for entry in lines(payout["history"]) if entry["what"] == Entry.MOVED.value]
    # A retry replaces the reference that the service is given; each line of a retry has the one before it.
    references = [entry["replaced"] for entry in entries if "replaced" in entry] + [payout["service_reference"]]
    status, tries, disbursement_id = PayoutStatus.READY, 0, None
    for entry in entries:
        tries += "replaced" in entry
        before, status = status, _status(entry.get("to")) or status
        is_last = tries + 1 == len(references)
        found = payout["disbursement_id"] if is_last else None
        disbursement_id = entry.get("disbursement_id") or (disbursement_id if before is PayoutStatus.SENT else None)
        kind = booked_as(PayoutKind(payout["kind"]), before, status)
        if kind is not None:
            known = {"service_reference": references[tries], "disbursement_id": disbursement_id or found}
            yield booking_row(kind, {**payout, **known}, as_utc(datetime.fromisoformat(entry["at"])))


def _untold(payout: Row) -> Iterator[dict[str, Any]]:
    """The booking of a payout that is sent though its history does not say when."""
    kind = booked_as(PayoutKind(payout["kind"]), PayoutStatus.SENDING, PayoutStatus.SENT)
    if payout["status"] in BOOKED_STATES and kind is not None:
        yield booking_row(kind, payout, as_utc(payout["moved_at"]))


def _status(name: object) -> PayoutStatus | None:
    return PayoutStatus(str(name)) if name in list(PayoutStatus) else None


def _key(booking: dict[str, Any]) -> tuple[str, str]:
    return booking["service_reference"], booking["kind"]
