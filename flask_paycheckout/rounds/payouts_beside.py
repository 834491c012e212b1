"""Payouts beside deposits: a reconcile round runs both, and neither waits for the other's service calls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Thread

import msgspec

from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.payouts.results import PayoutReport
from flask_paycheckout.service.logs import FailureLog, about

__all__ = ["Paid", "PayoutRun", "PayoutsBeside"]

Stopped = Callable[[], bool]
Paid = tuple[PayoutReport, Delivery]


class PayoutsBeside(msgspec.Struct, frozen=True):
    """Starts rounds of payouts for reconcile."""

    idle: Callable[[], PayoutReport | None]
    """The report of a round that finds nothing to send, look up or read; None when there is something."""

    run: Callable[[Stopped], Paid]
    """Runs a round; it ends early, between two calls, when its argument returns True."""

    may_have_thread: Callable[[], bool]
    """Whether a second thread has a database connection of its own."""

    log: FailureLog

    def begin(self) -> PayoutRun:
        """Begin a round, in a thread of its own if there is anything to do; without threads it runs in `wait`."""
        run = PayoutRun(self._guarded)
        if self.may_have_thread():
            idle = self._idle()
            if idle is None:
                run.start()
            else:
                run.skip(idle)
        return run

    def _idle(self) -> PayoutReport | None:
        try:
            return self.idle()
        except Exception:
            # The round itself meets the same error, and tells it.
            return None

    def _guarded(self, stopped: Stopped) -> Paid:
        """A round whose errors do not end that of the deposits."""
        try:
            return self.run(stopped)
        except Exception:
            text = "the round of payouts failed; the next one tries again"
            self.log.exception("rounds of payouts", text, extra=about())
            return PayoutReport(failed_calls=1), Delivery()


class PayoutRun:
    """One round of payouts."""

    def __init__(self, task: Callable[[Stopped], Paid]) -> None:
        self._task = task
        self._stop = Event()
        self._done: Future[Paid] | None = None

    def start(self) -> None:
        """Run it in a thread of its own."""
        self._done = Future()
        # Not a daemon: a process that ends in the middle of a call would leave payouts in doubt.
        Thread(target=self._work, args=(self._done,), name="paycheckout-payouts").start()

    def skip(self, report: PayoutReport) -> None:
        """Leave it out, as this is its report."""
        self._done = Future()
        self._done.set_result((report, Delivery()))

    def stop(self) -> None:
        """Let it end after the call that is under way."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> Paid | None:
        """The counts of the round; None when it needs more than these seconds."""
        if self._done is None:
            return self._task(self._stop.is_set)
        try:
            return self._done.result(seconds)
        except TimeoutError:
            return None

    def _work(self, done: Future[Paid]) -> None:
        try:
            done.set_result(self._task(self._stop.is_set))
        except BaseException as error:
            done.set_exception(error)
