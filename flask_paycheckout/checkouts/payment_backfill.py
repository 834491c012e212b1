"""Backfill of the received money for checkouts of older versions, by reading their deposits again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Engine, func, select, update

from flask_paycheckout.client import Deposit, PaymentsError
from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.states import Status
from flask_paycheckout.service.logs import LOGGER, about
from flask_paycheckout.store.history import lines
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.payments import payment_columns

__all__ = ["BackfillReport", "PaymentBackfill"]

_SETTLED = [status.value for status in (Status.PAID, Status.HELD, Status.REJECTED)]
# The failed reads in a row that count as an outage; at least as many as run at once.
_OUTAGE = 5

_log = logging.getLogger(LOGGER)

Progress = Callable[["BackfillReport"], None]


@dataclass(frozen=True)
class BackfillReport:
    """The counts of one run."""

    filled: int = 0
    """The number of checkouts whose payment is stored now."""

    unreadable: int = 0
    """The number of checkouts without a usable answer of the service."""

    differing: int = 0
    """The number of checkouts whose deposit is not completed any more; nothing was stored for them."""

    stopped: bool = False
    """Whether the run ended early, after too many failures in a row."""

    after: int = 0
    """The row id after which the next run continues."""

    @property
    def clean(self) -> bool:
        """Whether every payment could be read and stored."""
        return not (self.unreadable or self.differing or self.stopped)


class _Row(NamedTuple):
    id: int
    checkout_id: str
    order_id: str
    account: str
    history: str
    moved_at: datetime


class PaymentBackfill:
    """Reads the deposits of settled checkouts without a stored payment.

    Only empty columns of the payment are written, so that runs can be repeated, or overlap.

    :param reading: returns a function that reads the deposit of a checkout id and account, like `Settlement.reading`.
    :param readers: the number of deposits that are read at once.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        models: Models,
        reading: Callable[[str, str], Callable[[], Deposit | None]],
        readers: int,
    ) -> None:
        self._engine = engine
        self._models = models
        self._reading = reading
        self._readers = readers

    def count(self, after: int = 0) -> int:
        """Count the checkouts without a stored payment."""
        counted = select(func.count()).select_from(self._models.checkouts).where(*self._waiting(after))
        with self._engine().connect() as connection:
            return connection.execute(counted).scalar_one()

    def run(self, limit: int | None = None, after: int = 0, progress: Progress | None = None) -> BackfillReport:
        """Read and store the payments, oldest checkout first, each read within the client's time limit.

        :param limit: the most deposits to read; None for all.
        :param after: the `after` of an earlier run's report, to continue there.
        :param progress: called with the report so far, after each deposit.
        """
        report = BackfillReport(after=after)
        left, failures = limit, 0
        with ThreadPoolExecutor(self._readers, "paycheckout-fill") as readers:
            while rows := self._rows(report.after, self._readers if left is None else min(left, self._readers)):
                left = None if left is None else left - len(rows)
                reads = [self._reading(row.checkout_id, row.account) for row in rows]
                for row, answer in zip(rows, readers.map(_ask, reads), strict=True):
                    failures = failures + 1 if isinstance(answer, PaymentsError) else 0
                    report = self._apply(replace(report, after=row.id), row, answer)
                    if progress is not None:
                        progress(report)
                if failures >= max(_OUTAGE, self._readers):
                    return replace(report, stopped=True, after=rows[0].id - 1)
        return report

    def _apply(self, report: BackfillReport, row: _Row, answer: Deposit | PaymentsError | None) -> BackfillReport:
        fields = about(row.order_id, row.checkout_id, row.account)
        if isinstance(answer, PaymentsError):
            _log.warning("checkout %s could not be read: %s", row.checkout_id, answer, extra=fields)
            return replace(report, unreadable=report.unreadable + 1)
        if answer is None or answer.status != "completed" or answer.deposit_id != row.checkout_id:
            _log.warning("the deposit of checkout %s is not completed any more", row.checkout_id, extra=fields)
            return replace(report, differing=report.differing + 1)
        c = self._models.checkouts.c
        empty = (c.id == row.id, c.status.in_(_SETTLED), c.payment_completed_at.is_(None))
        filled = update(self._models.checkouts).where(*empty).values(payment_columns(answer, _arrived_at(row)))
        with self._engine().begin() as connection:
            changed = connection.execute(filled).rowcount
        return replace(report, filled=report.filled + changed)

    def _rows(self, after: int, limit: int) -> Sequence[_Row]:
        c = self._models.checkouts.c
        columns = select(c.id, c.checkout_id, c.order_id, c.account, c.history, c.moved_at).where(*self._waiting(after))
        if limit <= 0:
            return []
        with self._engine().connect() as connection:
            return [_Row(*row) for row in connection.execute(columns.order_by(c.id).limit(limit))]

    def _waiting(self, after: int) -> tuple[Any, ...]:
        c = self._models.checkouts.c
        return c.id > after, c.status.in_(_SETTLED), c.payment_completed_at.is_(None)


def _ask(read: Callable[[], Deposit | None]) -> Deposit | PaymentsError | None:
    try:
        return read()
    except PaymentsError as error:
        return error


def _arrived_at(row: _Row) -> datetime:
    """The time of the read that saw the money, from the history, else the time of the last move."""
    for entry in lines(row.history):
        if entry["what"] == "moved" and entry.get("to") in ("paid", "held"):
            return as_utc(datetime.fromisoformat(entry["at"]))
    return as_utc(row.moved_at)
