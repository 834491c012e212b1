"""Reconcile: reads every checkout that is due, delivers undelivered events, and sends payouts.

It finds payments without webhooks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.due_reading import Answered, DueRound, Workers
from flask_paycheckout.checkouts.due_reads import DueReads
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.client import Deposit, PaymentsError
from flask_paycheckout.clock import Clock
from flask_paycheckout.events.events import HeldEvent
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.payouts.results import PayoutReport
from flask_paycheckout.service.limits import AccountLimits
from flask_paycheckout.service.logs import FailureLog, about_checkout

if TYPE_CHECKING:
    from flask_paycheckout.rounds.payouts_beside import Paid, PayoutRun, PayoutsBeside

__all__ = ["ReconcileReport", "ReconcileWatch", "Reconciler"]

# Seconds that a round of a watch waits for its payouts before it leaves them to the next one.
_PATIENCE = 1.0
# A second thread works while the first waits for the database; more than two would mostly wait for each other.
_SETTLERS = 2

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

    payouts: PayoutReport = field(default_factory=PayoutReport)
    """The counts of the payouts that were sent, looked up and read."""

    @property
    def clean(self) -> bool:
        """Whether everything could be read, delivered and paid out."""
        return self.failed == 0 and self.payouts.clean

    def __add__(self, other: ReconcileReport) -> ReconcileReport:
        return ReconcileReport(
            self.checked + other.checked,
            self.changed + other.changed,
            self.delivered + other.delivered,
            self.failed + other.failed,
            self.payouts + other.payouts,
        )


class Reconciler:
    """Runs reconcile rounds for one app.

    A limited number of threads read deposits; they use neither the database nor the shop's code. On a database server
    a few threads apply the results and deliver events; on SQLite, which has one writer, the caller's thread does.

    Payouts have a thread of their own meanwhile.

    :param readers: the most reads at once; 1 starts no thread at all.
    :param several_accounts: returns whether the shop has several merchant accounts.
    """

    def __init__(
        self,
        due_reads: DueReads,
        settlement: Settlement,
        outbox: Outbox,
        clock: Clock,
        readers: int,
        several_accounts: Callable[[], bool],
        payouts: PayoutsBeside,
        log: FailureLog,
    ) -> None:
        self._due_reads = due_reads
        self._settlement = settlement
        self._outbox = outbox
        self._clock = clock
        self._readers = readers
        self._several_accounts = several_accounts
        self._limits = AccountLimits(readers)
        self._payouts = payouts
        self._log = log

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """Run one round over everything that is due, deposits and payouts, and wait for both.

        Parameters as for `read_deposits`.
        """
        paying = self._payouts.begin()
        try:
            report = self.read_deposits(limit, progress)
        except BaseException:
            paying.stop()
            raise
        finally:
            paid = _paid(paying.wait())
        report += paid
        if report.delivered:
            # Receivers may have added payouts.
            report += _paid(self._payouts.begin().wait())
        return report

    def watch(self) -> ReconcileWatch:
        """Begin a series of rounds, none of which waits for payouts."""
        return ReconcileWatch(self, self._payouts)

    def read_deposits(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """Run one round over the deposits and events that are due at its beginning.

        When the service fails the round ends early: the rest stays due, and the next round begins with one probe.

        :param limit: the most checkouts to read; None for all.
        :param progress: called with the report so far, after each read.
        """
        report = _delivered(self._outbox.deliver_due())
        accounts = self._due_reads.due_accounts(self._clock()) if self._several_accounts() else None
        # Late answers of one account may wait beside the others' reads.
        readers = self._readers if accounts is None or self._readers == 1 else 2 * self._readers
        settlers = 1 if self._due_reads.single_writer else min(self._readers, _SETTLERS)
        with _threads(readers, "paycheckout-read") as reads, _threads(settlers, "paycheckout-settle") as settles:
            due = DueRound(
                self._due_reads,
                self._clock,
                self._limits,
                Workers(reads, settles, settlers),
                self._settlement.reading,
                self._settle,
                accounts,
                limit,
            )
            for settled in due.run():
                report += settled
                if progress is not None:
                    progress(report)
        self._log.tell_left_out()
        return report

    def _settle(self, answered: Sequence[Answered]) -> list[ReconcileReport]:
        """Apply reads, and deliver the events of all; returns the counts of each."""
        began = self._clock()
        results: list[ReconcileReport] = []
        events: list[HeldEvent] = []
        try:
            for attempt, read in answered:
                report, stored = self._apply(attempt, read)
                results.append(report)
                events += stored
        except BaseException:
            self._outbox.let_go(events)
            raise
        results[-1] += _delivered(self._outbox.deliver(events, began))
        return results

    def _apply(
        self, attempt: CheckoutMixin, read: Future[Deposit | None]
    ) -> tuple[ReconcileReport, Sequence[HeldEvent]]:
        """Apply a read; returns the counts, and the events that were stored."""
        try:
            settled = self._settlement.apply(attempt, read.result, via=FoundBy.RECONCILE)
        except PaymentsError as error:
            fields, text = about_checkout(attempt), "checkout %s of order %s could not be read: %s"
            self._log.warning("reads of deposits", text, *_ids(attempt), error, extra=fields, error=error)
            return ReconcileReport(checked=1, failed=1), ()
        except Exception:
            # Log the traceback the first time only; the checkout's `problem` has the error.
            fields = about_checkout(attempt, heals=attempt.failed_reads > 0)
            self._log.exception(
                "settling payments", "checkout %s of order %s could not be settled", *_ids(attempt), extra=fields
            )
            return ReconcileReport(checked=1, failed=1), ()
        return ReconcileReport(checked=1, changed=int(settled.moved), failed=int(settled.failed)), settled.events


class ReconcileWatch:
    """A series of rounds in one process.

    A round begins payouts only when the earlier ones have ended, so a service that hangs for payouts delays no deposit.
    """

    def __init__(self, reconciler: Reconciler, payouts: PayoutsBeside) -> None:
        self._reconciler = reconciler
        self._payouts = payouts
        self._paying: PayoutRun | None = None

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """Run one round; payouts that take longer are counted in the round in which they end."""
        paying = self._paying = self._paying or self._payouts.begin()
        report = self._reconciler.read_deposits(limit, progress)
        paid = paying.wait(_PATIENCE)
        if paid is None:
            return report
        self._paying = None
        return report + _paid(paid)

    def stop(self) -> None:
        """Let payouts that are under way end after their present call."""
        if self._paying is not None:
            self._paying.stop()


def _ids(attempt: CheckoutMixin) -> tuple[str, str]:
    return attempt.checkout_id, attempt.order_id


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


def _paid(paid: Paid | None) -> ReconcileReport:
    report, delivery = paid or (PayoutReport(), Delivery())
    return ReconcileReport(delivered=delivery.delivered, failed=delivery.failed, payouts=report)


def _delivered(delivery: Delivery) -> ReconcileReport:
    return ReconcileReport(delivered=delivery.delivered, failed=delivery.failed)
