"""Work that is done regularly: reconcile, delivery, sending, pruning, the books."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.database.order_ids import require_order_id
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.operations.base import OperationsBase
from flask_paycheckout.payouts.results import PayoutReport

if TYPE_CHECKING:
    from flask_paycheckout.books.export import Export
    from flask_paycheckout.books.pruning import Pruned
    from flask_paycheckout.rounds.reconcile import Progress, ReconcileReport, ReconcileWatch

__all__ = ["UpkeepOperations"]


class UpkeepOperations(OperationsBase):
    """The calls that commands and scheduled tasks make.

    What keeps the books and removes old rows is imported when it is used: a web process seldom uses it, and would load
    it at its start.
    """

    def reconcile_with_progress(self, limit: int | None, progress: Progress | None) -> ReconcileReport:
        """Run one round of `reconcile`, reporting progress.

        :param progress: called after each read with the counts so far.
        """
        return self._beside_session("reconcile()").reconciler.run(limit, progress)

    def watch(self) -> ReconcileWatch:
        """Begin a series of reconcile rounds, none of which waits for payouts."""
        return self._beside_session("reconcile()").reconciler.watch()

    def count_due(self) -> int:
        """How many deposits are due to be read."""
        return self._runtime.due_reads.count_due(self._runtime.clock())

    def deliver(
        self, order_id: str | None = None, *, now: bool = False, progress: Callable[[int], object] | None = None
    ) -> Delivery:
        """Deliver events that wait to their receivers.

        :param order_id: only those of this order.
        :param now: also those whose next try is later.
        :param progress: called after each event.
        """
        wanted = None if order_id is None else require_order_id(order_id)
        return self._beside_session("deliver()").outbox.deliver_waiting(wanted, now=now, progress=progress)

    def count_waiting(self, order_id: str | None) -> int:
        """How many events wait for delivery.

        :param order_id: only those of this order.
        """
        return self._runtime.outbox.count_waiting(order_id)

    def count_ready_payouts(self) -> int:
        """How many payouts are ready to be sent."""
        return self._runtime.payout_queue.backlog(self._runtime.clock()).ready

    def send_with_progress(self, access_token: str | None, progress: Callable[[int], object]) -> PayoutReport:
        """Run `send_payouts`, reporting progress.

        :param progress: called before each call of the service with the number of payouts that are still ready.
        """

        def note() -> bool:
            progress(self.count_ready_payouts())
            return False

        shop = self._beside_session("send_payouts()")
        return shop.payout_sender.run_round(concealed(access_token), note)[0]

    def allow_reading(self, call: str) -> None:
        """End an open transaction of the shop's session that would block our reads.

        :param call: named in the error.
        :raises UncommittedChanges: the transaction has written something.
        """
        self._for_reading(call)

    def prune(
        self, older_than: timedelta, *, dry_run: bool, progress: Callable[[int, int], object] | None = None
    ) -> Pruned:
        """Remove what was decided and delivered longer ago than this time: histories, events, abandoned checkouts.

        :param dry_run: only count it.
        :param progress: called with how far the run is, and with the end.
        """
        from flask_paycheckout.books.pruning import Pruning

        shop = self._beside_session("prune()")
        # As long as a link to its order's page may be valid, an abandoned checkout tells what became of it.
        readable = max(shop.settings.watch_for, shop.settings.token_max_age)
        pruning = Pruning(shop.engine, shop.models, shop.clock, readable)
        return pruning.run(older_than, dry_run=dry_run, progress=progress)

    # The books

    def export(self, start: datetime | None, end: datetime | None, account: str | None = None) -> Export:
        """An export of every movement of money.

        :param start: the first moment that is included; None for the beginning.
        :param end: the first moment that is not included; None for no end.
        :param account: only those of this merchant account.
        """
        from flask_paycheckout.books.periods import Period

        return self._for_reading("the export").books.export(Period(start, end, account))
