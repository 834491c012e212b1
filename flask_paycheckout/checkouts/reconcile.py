"""Reconcile: the only thing that must run. Reads every checkout that is due and delivers what was not delivered."""

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
from flask_paycheckout.service.concurrency import ReadWindow
from flask_paycheckout.store.due_reads import DueReads
from flask_paycheckout.store.models import CheckoutMixin

__all__ = ["ReconcileReport", "Reconciler"]

# A second thread works while the first waits for the database; more than two only wait for each other.
_SETTLERS = 2

_log = logging.getLogger("flask_paycheckout")

Progress = Callable[["ReconcileReport"], None]


@dataclass(frozen=True)
class ReconcileReport:
    """What one round did.

    :ivar checked: checkouts whose deposit was read.
    :ivar changed: checkouts whose state changed.
    :ivar delivered: events that reached all their receivers.
    :ivar failed: reads without a usable answer, and events of which a receiver failed.
    """

    checked: int = 0
    changed: int = 0
    delivered: int = 0
    failed: int = 0

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

    The service is read by a bounded number of threads that touch no database and none of the shop's code. What they
    find is settled, receivers included, by a few threads on a database server, and in the thread that called on
    SQLite, which has one writer.

    :param readers: reads under way at once when the service answers; 1 starts no thread at all.
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
        self._window = ReadWindow(readers)

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """One round over everything that is due as it begins.

        It ends early when the service fails: what is left stays due, and the next round begins with one probe.

        :param limit: at most this many checkouts are read; None for all.
        :param progress: called with the report so far, after each read.
        """
        report = _delivered(self._outbox.deliver_due())
        self._window.open_round()
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
            (self._window.failed if done.exception() else self._window.answered)()
            begun = settles.submit(self._settle, attempt, done)
            settling[begun] = attempt
            begun.add_done_callback(finished.put)

        broken: SQLAlchemyError | None = None
        while True:
            room = self._window.size - len(reading) - len(settling)
            # By halves of the window, so that one claim is for many reads. Never more than are read at once: what a
            # process that dies has claimed waits for nobody.
            if room >= max(1, self._window.size // 2) and not self._window.closed and broken is None:
                try:
                    # After a failure from the other end, so that many that fail together are no outage yet.
                    nothing_locked = self._due_reads.single_writer or not settling
                    read(due.take(room, newest_first=self._window.troubled, complete=nothing_locked))
                except SQLAlchemyError as error:
                    # What is being read already is settled first, or it would wait until its claim has run out.
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
            # Told with its traceback the first time; what stands in the way is noted in the checkout since.
            again = attempt.failed_reads > 0
            _log.exception(
                "checkout %s of order %s could not be settled", *_ids(attempt), extra=_fields(attempt, heals=again)
            )
            return ReconcileReport(checked=1, failed=1), Settled(attempt)
        delivery = _delivered(self._outbox.deliver(settled.events))
        report = ReconcileReport(checked=1, changed=int(settled.moved), failed=int(settled.failed))
        return report + delivery, settled


class _Due:
    """What was due as a round began, taken over bit by bit: first what did not fail last time, then what did.

    So a checkout that the service cannot tell us about never stands before one that it can.
    """

    def __init__(self, due_reads: DueReads, clock: Clock, limit: int | None) -> None:
        self._due_reads = due_reads
        self._clock = clock
        self._started = clock()
        self._left = sys.maxsize if limit is None else limit
        self._failing = False
        self._taken_again: set[str] = set()

    def take(self, room: int, *, newest_first: bool, complete: bool) -> Sequence[CheckoutMixin]:
        """At most so many attempts, claimed for this process; none when nothing is left.

        :param complete: nothing can have been passed over because this round itself is writing to its order.
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
        """The same attempt for a second read in this round, never a third: the first "not found" came late."""
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
    """Works in the thread that called, one task after the other."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def _delivered(delivery: Delivery) -> ReconcileReport:
    return ReconcileReport(delivered=delivery.delivered, failed=delivery.failed)
