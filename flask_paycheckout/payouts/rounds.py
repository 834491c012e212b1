"""A round of payouts: look-ups, sends and reads that are due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.payouts.calls import AccessToken
from flask_paycheckout.payouts.results import PayoutReport, PayoutResults, due_move
from flask_paycheckout.payouts.sending import Sending
from flask_paycheckout.payouts.stored import PayoutMoves
from flask_paycheckout.service.logs import about

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PayoutSender:
    """Runs rounds for one app, in any number of processes and threads at once."""

    parts: Parts
    sending: Sending
    moves: PayoutMoves
    outbox: Outbox

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
        sending = self.sending
        if isinstance(access_token, str):
            # Before anything is claimed.
            sending.calls.authorized(access_token)
        results = PayoutResults(self.parts, self.moves, self.outbox)
        before = sending.queue.backlog(results.started)
        if not before.due:
            return results.report(before.ready), results.delivery
        token = self._setting if access_token is None else access_token
        try:
            self._step(results, lambda: self._let_time_pass(results))
            self._step(results, lambda: sending.following.look_up_due(results, at_once=at_once))
            self._step(results, lambda: sending.run(token, results, stopped, at_once=at_once))
            self._step(results, lambda: sending.following.read_due(results, stopped, at_once=at_once))
        finally:
            sending.record.write()
            results.deliver()
        left = self._step(results, lambda: sending.queue.backlog(results.started)) or before
        return results.report(left.ready), results.delivery

    def _let_time_pass(self, results: PayoutResults) -> None:
        """Cancel payouts that nobody claimed in time, and make those ready that waited for the next day."""
        for payout in self.sending.queue.overdue(results.started):
            self.moves.move(payout, due_move(payout, results.started), self.parts.clock())

    def _step(self, results: PayoutResults, step: Callable[[], T]) -> T | None:
        """Run a step of a round; None when it failed, which must not keep the round from the next one."""
        try:
            return step()
        except Exception:
            results.failed_calls += 1
            text = "a step of the round of payouts failed; the next round tries it again"
            self.parts.log.exception("rounds of payouts", text, extra=about())
            return None

    def idle(self) -> PayoutReport | None:
        """The report of a round that finds nothing due; None when something is."""
        backlog = self.sending.queue.backlog(self.parts.clock())
        return None if backlog.due else PayoutReport(left=backlog.ready)

    @property
    def _setting(self) -> AccessToken | None:
        """The access token of the settings; a function is called in a context of its own, as threads have none."""
        given = self.parts.settings.access_token
        if not callable(given):
            return given

        def ask() -> str:
            with self.parts.sessions.own():
                return given()

        return ask
