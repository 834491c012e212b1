"""A round of payouts: look-ups, sends and reads that are due."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flask_paycheckout.clock import Clock
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.payouts.calls import AccessToken, PayoutCalls
from flask_paycheckout.payouts.following import Following, LookUps
from flask_paycheckout.payouts.payout_moves import PayoutMoves
from flask_paycheckout.payouts.payout_queue import PayoutQueue
from flask_paycheckout.payouts.results import PayoutReport, PayoutResults
from flask_paycheckout.payouts.sending import Sending
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.service.logs import FailureLog, about
from flask_paycheckout.service.observations import Observers
from flask_paycheckout.service.record import ServiceRecord

T = TypeVar("T")


class PayoutSender:
    """Runs rounds for one app, in any number of processes and threads at once.

    :param access_token: the setting, by which payouts are sent when a round is given no other token.
    """

    def __init__(
        self,
        payouts: Payouts,
        queue: PayoutQueue,
        moves: PayoutMoves,
        calls: PayoutCalls,
        outbox: Outbox,
        record: ServiceRecord,
        clock: Clock,
        database_clock: Clock,
        access_token: AccessToken | None,
        log: FailureLog,
        observers: Observers,
    ) -> None:
        self._payouts = payouts
        self._queue = queue
        self._moves = moves
        self._calls = calls
        self._outbox = outbox
        self._record = record
        self._clock = clock
        self._access_token = access_token
        self._log = log
        self._observers = observers
        self._look_ups = LookUps(queue, calls, clock, database_clock, log)
        self._sending = Sending(queue, calls, self._look_ups, record, clock, log)
        self._following = Following(queue, calls, clock, log)

    def run(self, access_token: AccessToken | None = None) -> PayoutReport:
        """Run a round over all that is due at its beginning, and return its counts.

        :param access_token: used in place of the setting. Without either nothing is sent; look-ups and reads go on.
        """
        return self.run_round(access_token)[0]

    def run_round(
        self,
        access_token: AccessToken | None = None,
        stopped: Callable[[], bool] = lambda: False,
        *,
        at_once: bool = True,
    ) -> tuple[PayoutReport, Delivery]:
        """Run a round; returns its counts, and how many events were delivered.

        :param stopped: whether to end before the next call.
        :param at_once: whether to call also for accounts whose last calls failed; reconcile pauses instead.
        :raises ValueError: the access token cannot stand in a header.
        """
        if isinstance(access_token, str):
            # Before anything is claimed.
            self._calls.authorized(access_token)
        results = PayoutResults(self._payouts, self._moves, self._outbox, self._clock, self._log, self._observers)
        before = self._queue.backlog(results.started)
        if not before.due:
            return results.report(before.ready), results.delivery
        token = self._access_token if access_token is None else access_token
        try:
            self._step(results, lambda: self._look_ups.run(results, at_once=at_once))
            self._step(results, lambda: self._sending.run(token, results, stopped, at_once=at_once))
            self._step(results, lambda: self._following.run(results, stopped, at_once=at_once))
        finally:
            self._record.write()
            results.deliver()
        left = self._step(results, lambda: self._queue.backlog(results.started)) or before
        return results.report(left.ready), results.delivery

    def _step(self, results: PayoutResults, step: Callable[[], T]) -> T | None:
        """Run a step of a round; None when it failed, which must not keep the round from the next one."""
        try:
            return step()
        except Exception:
            results.call_failed()
            text = "a step of the round of payouts failed; the next round tries it again"
            self._log.exception("rounds of payouts", text, extra=about())
            return None

    def idle(self) -> PayoutReport | None:
        """The report of a round that finds nothing due; None when something is."""
        backlog = self._queue.backlog(self._clock())
        return None if backlog.due else PayoutReport(left=backlog.ready)
