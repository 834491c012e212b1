"""Reconcile: reads every checkout that is due, delivers undelivered events, and sends payouts.

It finds payments without webhooks.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, Any

from sqlalchemy import SingletonThreadPool, StaticPool

from flask_paycheckout.books.customers import Customers
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin, about_checkout
from flask_paycheckout.checkouts.due_reading import AccountLimits, DueRound
from flask_paycheckout.checkouts.order_problems import OrderProblem, OrderProblems, ProblemKind
from flask_paycheckout.checkouts.ruling import ReadCause
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.shop_answers import ShopAnswers
from flask_paycheckout.checkouts.start import Starter
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.client import Deposit, PaymentsError
from flask_paycheckout.errors import OrderNotPayable, OrderSettled
from flask_paycheckout.events.events import Delivery
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.payouts.results import PayoutReport
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

if TYPE_CHECKING:
    from flask_paycheckout.books.audit.months import MonthAudits
    from flask_paycheckout.books.telling import OwnerTelling
    from flask_paycheckout.payouts.sending import PayoutSender
    from flask_paycheckout.rounds.key_probe import KeyProbe
    from flask_paycheckout.rounds.reminders import Reminders

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
        ours, theirs = vars(self), vars(other)
        return ReconcileReport(**{name: ours[name] + theirs[name] for name in ours})


@dataclass(frozen=True)
class Reconciler:
    """Runs reconcile rounds for one app.

    A limited number of threads read deposits; they use neither the database nor the shop's code. On a database server
    a few threads apply the results and deliver events; on SQLite, which has one writer, the caller's thread does.

    Payouts have a thread of their own meanwhile.
    """

    wiring: Wiring
    settlement: Settlement
    outbox: Outbox
    reminders: Reminders
    problems: ProblemRound
    payouts: PayoutSender
    months: MonthAudits
    telling: OwnerTelling
    keys: KeyProbe
    limits: AccountLimits
    """The limits of this process's reads."""

    def begin_payouts(self) -> PayoutThread:
        """Begin a round of payouts."""
        return PayoutThread(self.payouts, self.wiring)

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """Run one round over everything that is due, deposits and payouts, and wait for both.

        Parameters as for `read_deposits`.
        """
        paying = self.begin_payouts()
        try:
            report = self.read_deposits(limit, progress)
        except BaseException:
            paying.stop()
            raise
        finally:
            paid = paying.wait()
        report += paid
        if report.delivered:
            # Receivers may have added payouts.
            report += self.begin_payouts().wait()
        return report

    def watch(self) -> ReconcileWatch:
        """Begin a series of rounds, none of which waits for payouts."""
        return ReconcileWatch(self)

    def read_deposits(self, limit: int | None, progress: Progress | None) -> ReconcileReport:
        """Run one round over the deposits and events that are due at its beginning.

        When the service fails the round ends early: the rest stays due, and the next round begins with one probe.

        :param limit: the most checkouts to read; None for all.
        :param progress: called with the report so far, after each read.
        """
        report = _delivered(self.outbox.deliver_due())
        self.settlement.checkouts.bring_forward(self.wiring.clock())
        self.reminders.read_first()
        most = self.wiring.settings.reconcile_readers
        settlers = 1 if self.wiring.engine().dialect.name == "sqlite" else min(most, _SETTLERS)
        # Late answers of one account may wait beside the others' reads.
        with _threads(2 * most if most > 1 else 1, "read") as reads, _threads(settlers, "settle") as settles:
            due = DueRound(
                self.settlement.checkouts,
                self.wiring.clock,
                self.limits,
                reads,
                settles,
                self.settlement.reading,
                self.settle,
                limit,
            )
            for settled in due.run():
                report += settled
                if progress is not None:
                    progress(report)
        for completed in self.settlement.part_payments.complete_due():
            if completed is None:
                report += ReconcileReport(failed=1)
            else:
                report += ReconcileReport(changed=1) + _delivered(completed)
        self.problems.run()
        self.settlement.service.record.write()
        # After the reads: what they have found needs no reminder.
        for reminder in self.reminders.store():
            report += _delivered(self.outbox.deliver([reminder]))
        for name, task in (
            ("refused keys", self.keys.run),
            ("audits of months", self.months.compare_some),
            ("tell_owner", self.telling.tell),
        ):
            try:
                task()
            except Exception:
                # None keeps the others, nor a round, from its end.
                self.wiring.log.exception(name, "a part of the round failed", extra=about())
        return report

    def settle(self, checkout: CheckoutMixin, read: Future[Deposit | None], at: datetime) -> ReconcileReport:
        """Apply a finished read that was begun at a time, and deliver its events."""
        try:
            settled = self.settlement.apply(checkout, read.result, ReadCause(FoundBy.RECONCILE, at))
        except PaymentsError as error:
            told = "checkout %s of order %s could not be read: %s", checkout.checkout_id, checkout.order_id, error
            self.wiring.log.warning("reads of deposits", *told, extra=about_checkout(checkout))
            return ReconcileReport(checked=1, failed=1)
        except Exception:
            self.settlement.log_unsettled(checkout)
            return ReconcileReport(checked=1, failed=1)
        counts = ReconcileReport(checked=1, changed=int(settled.moved), failed=int(settled.failed))
        return counts + _delivered(self.outbox.deliver(settled.events))


@dataclass(frozen=True)
class ProblemRound:
    """Asks the functions of one app's shop again that failed for an order."""

    wiring: Wiring
    problems: OrderProblems
    answers: ShopAnswers
    starter: Starter
    customers: Customers

    def run(self) -> None:
        """Look at the problems that are due, and remove those that are over."""
        self.problems.look_again(self._is_over)

    def _is_over(self, problem: OrderProblem) -> bool | None:
        if problem.kind in (ProblemKind.PERMISSION, ProblemKind.FIND_ORDERS):
            # Nobody is logged in here, or looks for anything: the next person at the owner's pages shows it.
            return None
        if problem.kind == ProblemKind.DESCRIBE_ORDERS:
            return self.customers.describes(problem.order_id)
        if problem.kind == ProblemKind.UNAVAILABLE and problem not in self.problems.of_order(problem.order_id):
            return True
        of_service = problem.kind in (ProblemKind.REFUSED, ProblemKind.UNAVAILABLE)
        try:
            if problem.kind == ProblemKind.ORDER_URL:
                # It makes an address, which a request gives it elsewhere too.
                with self.wiring.app.test_request_context():
                    self.answers.ask_order_url(problem.order_id)
                return True
            due = self.starter.due_now(problem.order_id)
        except (OrderNotPayable, OrderSettled):
            return True
        except Exception:
            return None if of_service else False
        return True if not of_service or (problem.kind == ProblemKind.REFUSED and str(due) != problem.due) else None


@dataclass
class ReconcileWatch:
    """A series of rounds in one process.

    A round begins payouts only when the earlier ones have ended, so a service that hangs for payouts delays no deposit.
    """

    reconciler: Reconciler
    _paying: PayoutThread | None = field(default=None, init=False)

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """Run one round; payouts that take longer are counted in the round in which they end."""
        paying = self._paying = self._paying or self.reconciler.begin_payouts()
        report = self.reconciler.read_deposits(limit, progress)
        with suppress(TimeoutError):
            report += paying.wait(_PATIENCE)
            self._paying = None
        return report

    def stop(self) -> None:
        """Let payouts that are under way end after their present call."""
        if self._paying is not None:
            self._paying.stop()


class PayoutThread:
    """One round of payouts, in a thread of its own while deposits are read: neither waits for the other's calls.

    Without anything to do there is no thread. Where threads share one database connection, the round runs in `wait`.
    """

    def __init__(self, sender: PayoutSender, wiring: Wiring) -> None:
        self._sender = sender
        self._log = wiring.log
        self._stop = Event()
        self._done: Future[ReconcileReport] | None = None
        if isinstance(wiring.engine().pool, (StaticPool, SingletonThreadPool)):
            return
        # The round itself meets the same error, and tells it.
        with suppress(Exception):
            if (idle := self._sender.idle()) is not None:
                self._done = Future()
                self._done.set_result(ReconcileReport(payouts=idle))
                return
        # The process waits for its thread: one that ends in the middle of a call would leave payouts in doubt.
        thread = ThreadPoolExecutor(1, "paycheckout-payouts")
        self._done = thread.submit(self._round)
        thread.shutdown(wait=False)

    def stop(self) -> None:
        """Let it end after the call that is under way."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> ReconcileReport:
        """The counts of the round.

        :raises TimeoutError: it needs more than these seconds.
        """
        return self._round() if self._done is None else self._done.result(seconds)

    def _round(self) -> ReconcileReport:
        """A round whose errors do not end the round of the deposits."""
        try:
            report, delivery = self._sender.run(stopped=self._stop.is_set, at_once=False)
        except Exception:
            text = "the round of payouts failed; the next one tries again"
            self._log.exception("rounds of payouts", text, extra=about())
            return ReconcileReport(payouts=PayoutReport(failed_calls=1))
        return ReconcileReport(payouts=report) + _delivered(delivery)


def _threads(most: int, name: str) -> Executor:
    return _Inline() if most == 1 else ThreadPoolExecutor(most, f"paycheckout-{name}")


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
