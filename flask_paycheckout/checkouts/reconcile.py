"""Reconcile: reads every checkout that is due, and delivers undelivered events. It finds payments without webhooks."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.logs import about
from flask_paycheckout.checkouts.outbox import Delivery, Outbox
from flask_paycheckout.checkouts.settlement import Settled, Settlement
from flask_paycheckout.client import Deposit, PaymentsError
from flask_paycheckout.clock import Clock
from flask_paycheckout.rules.states import FoundBy
from flask_paycheckout.service.concurrency import AdaptiveLimit
from flask_paycheckout.store.checkout_model import CheckoutMixin
from flask_paycheckout.store.due_reads import DueReads

__all__ = ["ReconcileReport", "Reconciler"]

# A second thread works while the first waits for the database; more than two would mostly wait for each other.
_SETTLERS = 2

_log = logging.getLogger("flask_paycheckout")

Progress = Callable[["ReconcileReport"], None]


@dataclass(frozen=True)
class ReconcileReport:
    """The counts of one round."""

    checked: int = 0
    """The number of checkouts whose deposit was read."""

    changed: int = 0
    """The number of checkouts whose state changed."""

    delivered: int = 0
    """The number of events that reached all of their receivers."""

    failed: int = 0
    """The number of reads without a usable answer, and of events with a failed receiver."""

    @property
    def clean(self) -> bool:
        """Whether everything could be read and delivered."""
        return self.failed == 0

    def __add__(self, other: ReconcileReport) -> ReconcileReport:
        return ReconcileReport(
            self.checked + other.checked,
            self.changed + other.changed,
            self.delivered + other.delivered,
            self.failed + other.failed,
        )


class Reconciler:
    """Runs reconcile rounds for one app.

    A limited number of threads read deposits; they use neither the database nor the shop's code. On a database server
    a few threads apply the results and deliver events; on SQLite, which has one writer, the caller's thread does.

    :param readers: the most reads at once; 1 starts no thread at all.
    """

    def __init__(
        self,
        due_reads: DueReads,
        settlement: Settlement,
        outbox: Outbox,
        clock: Clock,
        readers: int,
    ) -> None:
        self._due_reads = due_reads
        self._settlement = settlement
        self._outbox = outbox
        self._clock = clock
        self._readers = readers
        self._limit = AdaptiveLimit(readers)

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """Run one round over everything that is due at its beginning.

        When the service fails the round ends early: the rest stays due, and the next round begins with one probe.

        :param limit: the most checkouts to read; None for all.
        :param progress: called with the report so far, after each read.
        """
        report = _delivered(self._outbox.deliver_due())
        self._limit.begin_round()
        settlers = 1 if self._due_reads.single_writer else min(self._readers, _SETTLERS)
        with _threads(self._readers, "paycheckout-read") as reads, _threads(settlers, "paycheckout-settle") as settles:
            for settled in self._settle_due(reads, settles, _Due(self._due_reads, self._clock, limit)):
                report += settled
                if progress is not None:
                    progress(report)
        return report

    def _settle_due(self, reads: Executor, settles: Executor, due: _Due) -> Iterator[ReconcileReport]:
        reading: dict[Future[Any], CheckoutMixin] = {}
        settling: dict[Future[Any], CheckoutMixin] = {}
        finished: SimpleQueue[Future[Any]] = SimpleQueue()

        def read(attempts: Iterable[CheckoutMixin]) -> None:
            for attempt in attempts:
                begun = reads.submit(self._settlement.read, attempt.checkout_id)
                reading[begun] = attempt
                begun.add_done_callback(finished.put)

        def settle(attempt: CheckoutMixin, done: Future[Deposit | None]) -> None:
            (self._limit.failed if done.exception() else self._limit.answered)()
            begun = settles.submit(self._settle, attempt, done)
            settling[begun] = attempt
            begun.add_done_callback(finished.put)

        broken: SQLAlchemyError | None = None
        while True:
            room = self._limit.size - len(reading) - len(settling)
            # Claim when half of the limit is free, so that one statement claims many reads, but never more than can be
            # read at once: claims of a process that dies would have to expire first.
            if room >= max(1, self._limit.size // 2) and not self._limit.closed and broken is None:
                try:
                    # After a failure, claim from the other end, so that neighbouring checkouts that fail together do
                    # not count as an outage.
                    nothing_locked = self._due_reads.single_writer or not settling
                    read(due.take(room, newest_first=self._limit.troubled, complete=nothing_locked))
                except SQLAlchemyError as error:
                    # Settle the reads under way first, or they would wait until their claims expire.
                    broken = error
            if not reading and not settling:
                if broken is not None:
                    raise broken
                return
            done = finished.get()
            if done in reading:
                settle(reading.pop(done), done)
            else:
                attempt = settling.pop(done)
                report, settled = done.result()
                if settled.read_again:
                    read(due.take_again(attempt))
                yield report

    def _settle(self, attempt: CheckoutMixin, read: Future[Deposit | None]) -> tuple[ReconcileReport, Settled]:
        try:
            settled = self._settlement.apply(attempt, read.result, via=FoundBy.RECONCILE)
        except PaymentsError as error:
            _log.warning("checkout %s of order %s could not be read: %s", *_ids(attempt), error, extra=_fields(attempt))
            return ReconcileReport(checked=1, failed=1), Settled(attempt)
        except Exception:
            # Log the traceback the first time only; the checkout's `problem` has the error.
            again = attempt.failed_reads > 0
            _log.exception(
                "checkout %s of order %s could not be settled", *_ids(attempt), extra=_fields(attempt, heals=again)
            )
            return ReconcileReport(checked=1, failed=1), Settled(attempt)
        delivery = _delivered(self._outbox.deliver(settled.events))
        report = ReconcileReport(checked=1, changed=int(settled.moved), failed=int(settled.failed))
        return report + delivery, settled


class _Due:
    """The reads that were due when a round began, claimed in portions: first those that did not fail last time.

    So checkouts that always fail do not delay the others.
    """

    def __init__(self, due_reads: DueReads, clock: Clock, limit: int | None) -> None:
        self._due_reads = due_reads
        self._clock = clock
        self._started = clock()
        self._left = sys.maxsize if limit is None else limit
        self._failing = False
        self._taken_again: set[str] = set()

    def take(self, room: int, *, newest_first: bool, complete: bool) -> Sequence[CheckoutMixin]:
        """Claim up to `room` checkouts; empty when none is left.

        :param complete: whether no row can have been skipped because this round itself has it locked.
        """
        room = min(room, self._left)
        if room <= 0:
            return ()
        claimed = self._due_reads.claim_due(
            self._started, self._clock(), room, failing=self._failing, newest_first=newest_first
        )
        self._left -= len(claimed)
        if claimed or self._failing or not complete:
            return claimed
        self._failing = True
        return self.take(room, newest_first=newest_first, complete=complete)

    def take_again(self, attempt: CheckoutMixin) -> Sequence[CheckoutMixin]:
        """Claim a checkout for a second read in this round, never a third, after a first "not found" that came late."""
        if attempt.checkout_id in self._taken_again:
            return ()
        self._taken_again.add(attempt.checkout_id)
        return self._due_reads.claim_again(attempt, self._clock())


def _ids(attempt: CheckoutMixin) -> tuple[str, str]:
    return attempt.checkout_id, attempt.order_id


def _fields(attempt: CheckoutMixin, *, heals: bool = False) -> dict[str, Any]:
    return about(attempt.order_id, attempt.checkout_id, heals=heals)


def _threads(most: int, name: str) -> Executor:
    return _Inline() if most == 1 else ThreadPoolExecutor(most, name)


class _Inline(Executor):
    """Runs each task at once in the caller's thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def _delivered(delivery: Delivery) -> ReconcileReport:
    return ReconcileReport(delivered=delivery.delivered, failed=delivery.failed)
