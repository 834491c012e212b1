"""Reconcile: reads every checkout that is due, delivers undelivered events, and sends payouts.

It also finds payments without a webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import SingletonThreadPool, StaticPool

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin, about_checkout
from flask_paycheckout.checkouts.due_reading import AccountLimits, DueRound
from flask_paycheckout.checkouts.payments import says_absent
from flask_paycheckout.checkouts.ruling import ReadCause
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.client import Deposit, NotFound, PaymentsError
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.events.events import Delivery
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.payouts.results import PayoutReport
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.service.calls import READ
from flask_paycheckout.service.record import NO_KEYS, READS, failing_calls
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

if TYPE_CHECKING:
    from flask_paycheckout.books.account_names import Merchants
    from flask_paycheckout.books.audit.months import MonthAudits
    from flask_paycheckout.books.telling import OwnerTelling
    from flask_paycheckout.checkouts.order_problems import OrderProblems
    from flask_paycheckout.payouts.sending import PayoutSender
    from flask_paycheckout.rounds.problem_checks import ProblemChecks
    from flask_paycheckout.rounds.reminders import Reminders
    from flask_paycheckout.service.calls import Service
    from flask_paycheckout.wiring.installation import Installation

# The seconds that a round of a watch waits for its payouts, before the next round takes them over.
_PATIENCE = 1.0
# The time between two tries of refused keys, and the most accounts that a round tries, so that no round lasts too long.
_KEYS_AGAIN, _MOST_KEYS = timedelta(minutes=10), 5
# A second thread works while the first waits for the database; more threads would mostly wait for each other.
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

    A limited number of threads read deposits; they use neither the database nor the shop's code. With a database
    server, two threads apply the results and deliver events; with SQLite, which has one writer, the caller's thread
    does.

    Payouts run in a separate thread at the same time.
    """

    wiring: Wiring
    settlement: Settlement
    outbox: Outbox
    installation: Installation
    reminders: Reminders
    problems: OrderProblems
    problem_checks: ProblemChecks
    payouts: PayoutSender
    months: MonthAudits
    telling: OwnerTelling
    keys: RefusedKeys
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
        """Begin a series of rounds that do not wait for payouts."""
        return ReconcileWatch(self)

    def read_deposits(self, limit: int | None, progress: Progress | None) -> ReconcileReport:
        """Run one round over the deposits and events that are due at its beginning.

        If the service fails, the round ends early: the other reads stay due, and the next round begins with one probe.

        :param limit: the maximum number of checkouts to read; None for all.
        :param progress: called with the report so far, after each read.
        """
        report, checkouts = _delivered(self.outbox.deliver_due()), self.settlement.checkouts
        checkouts.bring_forward(self.wiring.clock())
        # Called even without reminders, so that each round finds out whether its shop is a copy.
        reminds = self.installation.is_here() and bool(self.wiring.settings.remind_after)
        if reminds:
            self.reminders.read_first()
        if accounts := checkouts.due_accounts(self.wiring.clock()):
            report = self._read(accounts, limit, progress, report)
        for order_id in checkouts.part_orders(self.wiring.clock()):
            report += self._complete_parts(order_id)
        self.problems.look_again(self.problem_checks.is_over)
        self.settlement.service.record.write()
        # After the reads, because a payment that they found needs no reminder.
        for reminder in self.reminders.store() if reminds else ():
            report += _delivered(self.outbox.deliver([reminder]))
        tasks = [("refused keys", self.keys.run), ("audits of months", self.months.compare_some)]
        if self.wiring.callbacks.tell_owner is not None:
            tasks.append(("tell_owner", self.telling.send))
        for name, task in tasks:
            try:
                task()
            except Exception:
                # A failing task must not stop the other tasks or the round.
                self.wiring.log.exception(name, "a part of the round failed", extra=about())
        return report

    def _read(
        self, accounts: Sequence[str], limit: int | None, progress: Progress | None, report: ReconcileReport
    ) -> ReconcileReport:
        """Read the deposits that are due, beginning with these accounts.

        :param report: the report so far; returned with the counts of these reads added.
        """
        readers = self.wiring.settings.reconcile_readers
        settlers = 1 if self.wiring.engine().dialect.name == "sqlite" else min(readers, _SETTLERS)
        # Twice the readers, so that slow answers of one account leave threads for other accounts.
        with _threads(2 * readers if readers > 1 else 1, "read") as reads, _threads(settlers, "settle") as settles:
            due = DueRound(
                self.settlement.checkouts,
                self.wiring.clock,
                self.limits,
                accounts,
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
        return report

    def _complete_parts(self, order_id: str) -> ReconcileReport:
        """Complete an order whose part payments reach its present total."""
        try:
            completed = self.settlement.part_payments.complete(order_id)
        except Exception:
            text = "it could not be settled whether the parts of order %s reach its total"
            self.wiring.log.exception("settling payments", text, order_id, extra=about(order_id))
            return ReconcileReport(failed=1)
        return ReconcileReport() if completed is None else ReconcileReport(changed=1) + _delivered(completed)

    def settle(self, checkout: CheckoutMixin, read: Future[Deposit | None], at: datetime) -> ReconcileReport:
        """Apply a finished read that began at this time, and deliver its events."""
        try:
            settled = self.settlement.apply(checkout, read.result, ReadCause(FoundBy.RECONCILE, at))
        except PaymentsError as error:
            message = "checkout %s of order %s could not be read: %s", checkout.checkout_id, checkout.order_id, error
            self.wiring.log.warning("reads of deposits", *message, extra=about_checkout(checkout))
            return ReconcileReport(checked=1, failed=1)
        except Exception:
            self.settlement.failed.log_unsettled(checkout)
            return ReconcileReport(checked=1, failed=1)
        counts = ReconcileReport(checked=1, changed=int(settled.moved), failed=int(settled.failed))
        return counts + _delivered(self.outbox.deliver(settled.events))


@dataclass(eq=False)
class RefusedKeys:
    """Retries keys that the service refused, so that their alarm ends even if nobody pays meanwhile.

    The alarm of an account without keys also ends when nothing is left to read or to pay out with them.
    """

    wiring: Wiring
    service: Service
    merchants: Merchants
    _tried_at: datetime = field(default=EPOCH, init=False)

    def run(self) -> None:
        """Try the accounts whose last call with refused keys was ten minutes ago or earlier, by a signed read."""
        now = self.wiring.clock()
        if self._tried_at > now - _KEYS_AGAIN:
            return
        self._tried_at, last = now, dict[str, datetime]()
        for calls in failing_calls(self.wiring.engine(), self.wiring.models.services, now):
            if calls.trouble in NO_KEYS:
                last[calls.account] = max(last.get(calls.account, EPOCH), calls.last_failure_at)
        if last:
            # The longest untried first, so that accounts that stay refused do not delay the others.
            due = [account for account in sorted(last, key=last.__getitem__) if last[account] <= now - _KEYS_AGAIN]
            for account in due[:_MOST_KEYS]:
                self._try(account)
            self.service.record.write()

    def _try(self, account: str) -> None:
        record = self.service.record
        try:
            with self.service.permit(READ, account) as permit:
                permit.ask(lambda client: client.deposits.get(f"no-such-deposit-{uuid4().hex}"))
        except PaymentsError as error:
            unneeded = isinstance(error, AccountUnavailable) and account not in self.merchants.open(None)
            if not (unneeded or (isinstance(error, NotFound) and says_absent(error))):
                record.on_outcome(READS, account, error)
                return
        record.on_answer(NO_KEYS, account)


@dataclass
class ReconcileWatch:
    """A series of rounds in one process.

    A round begins payouts only after the earlier payouts have ended, so slow calls for payouts delay no deposit.
    """

    reconciler: Reconciler
    _paying: PayoutThread | None = field(default=None, init=False)

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """Run one round; slow payouts are counted in the round in which they end."""
        paying = self._paying = self._paying or self.reconciler.begin_payouts()
        report = self.reconciler.read_deposits(limit, progress)
        with suppress(TimeoutError):
            report += paying.wait(_PATIENCE)
            self._paying = None
        return report

    def stop(self) -> None:
        """End the payouts under way after their present call."""
        if self._paying is not None:
            self._paying.stop()


class PayoutThread:
    """One round of payouts, in a separate thread while deposits are read; neither waits for the other's calls.

    If nothing is due, there is no thread. If threads share one database connection, the round runs in `wait`.
    """

    def __init__(self, sender: PayoutSender, wiring: Wiring) -> None:
        self._sender = sender
        self._log = wiring.log
        self._stop = Event()
        self._done: Future[ReconcileReport] | None = None
        if isinstance(wiring.engine().pool, (StaticPool, SingletonThreadPool)):
            return
        # The round itself gets the same error, and logs it.
        with suppress(Exception):
            due = self._sender.due.backlog(wiring.clock())
            if due.is_empty:
                self._done = Future()
                self._done.set_result(ReconcileReport(payouts=PayoutReport(left=due.ready)))
                return
        # The process waits for this thread, because ending it during a call would leave payouts in an unknown state.
        thread = ThreadPoolExecutor(1, "paycheckout-payouts")
        self._done = thread.submit(self._round)
        thread.shutdown(wait=False)

    def stop(self) -> None:
        """End the round after the call that is under way."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> ReconcileReport:
        """Wait for the round, and return its counts.

        :raises TimeoutError: the round takes longer than these seconds.
        """
        return self._round() if self._done is None else self._done.result(seconds)

    def _round(self) -> ReconcileReport:
        """Run the round; an error is logged, so that it does not end the round of deposits."""
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
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def _delivered(delivery: Delivery) -> ReconcileReport:
    return ReconcileReport(delivered=delivery.delivered, failed=delivery.failed)
