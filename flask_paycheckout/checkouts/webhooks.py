"""Webhooks: each is only a hint that a deposit should be read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.clock import Clock
from flask_paycheckout.rules.order_ids import MAX_ID
from flask_paycheckout.rules.states import OPEN, FoundBy
from flask_paycheckout.service.calls import READ, AccountUnavailable, NotAsked, Service, Turn
from flask_paycheckout.service.logs import FailureLog, about, about_checkout
from flask_paycheckout.service.single_flight import SingleFlight
from flask_paycheckout.store.checkout_model import CheckoutMixin
from flask_paycheckout.store.checkouts import Checkouts, CheckoutSummary
from flask_paycheckout.store.due_reads import DueReads

__all__ = ["Webhooks"]

_WEBHOOKS = "reads for webhooks"
_LATER = "webhook for checkout %s: not read now, reconcile will"


class Webhooks:
    """Receives the webhooks of one app.

    :param cooldown: the least time between two reads of one deposit that webhooks cause.
    :param defer: called with the checkout id to read it elsewhere; None to read at once.
    """

    def __init__(
        self,
        checkouts: Checkouts,
        due_reads: DueReads,
        settlement: Settlement,
        service: Service,
        clock: Clock,
        cooldown: timedelta,
        defer: Callable[[str], None] | None,
        log: FailureLog,
    ) -> None:
        self._checkouts = checkouts
        self._due_reads = due_reads
        self._settlement = settlement
        self._service = service
        self._clock = clock
        self._cooldown = cooldown
        self._defer = defer
        self._log = log
        self._reading = SingleFlight()

    def receive(self, checkout_id: str) -> str:
        """Store the hint, and read the deposit if that is allowed now.

        Returns once the hint is stored, or is provably useless: an unknown id, or another webhook for a checkout that
        no read can change any more. Either costs one query of our own table. While an earlier webhook's read is under
        way, or the service may not be called, the read is left to reconcile.

        :returns: what became of it: `useless`, `queued`, `read`, or `later` for a read that is left to reconcile.
        :raises sqlalchemy.exc.SQLAlchemyError: the hint could not be stored; the sender should try again.
        """
        if not _plausible(checkout_id):
            return "useless"
        attempt = self._checkouts.summary(checkout_id)
        if attempt is None or (attempt.status not in OPEN and attempt.webhooks):
            return "useless"
        if self._defer is not None:
            reading = self._note(attempt)
            return "queued" if reading is not None and self._queue(self._defer, reading) else "later"
        with self._reading.of(checkout_id) as free:
            try:
                if free:
                    with self._service.turn(READ, attempt.account) as turn:
                        return "read" if self._read(attempt, turn) else "later"
            except NotAsked:
                # The service's limits log this themselves; the hint is stored below.
                pass
            except AccountUnavailable as error:
                fields = about(attempt.current_order_id, checkout_id, attempt.account)
                self._log.warning(_WEBHOOKS, f"{_LATER}: %s", checkout_id, error, extra=fields, error=error)
        self._note(attempt)
        return "later"

    def _read(self, attempt: CheckoutSummary, turn: Turn) -> bool:
        reading = self._due_reads.note_webhook(attempt, self._clock(), self._cooldown, wait=self._cooldown)
        if reading is None:
            return False
        try:
            self._settlement.settle_attempt(reading, FoundBy.WEBHOOK, turn)
        except Exception as error:
            # The read is stored as due, so reconcile makes it after any error here.
            self._left(reading, error)
            return False
        return True

    def _queue(self, defer: Callable[[str], None], reading: CheckoutMixin) -> bool:
        """Queue the read; when the broker is unavailable, with whatever error, reconcile makes it."""
        try:
            defer(reading.checkout_id)
        except Exception as error:
            self._left(reading, error, heals=True)
            return False
        return True

    def _left(self, reading: CheckoutMixin, error: Exception, *, heals: bool = False) -> None:
        fields = about_checkout(reading, heals=heals)
        self._log.warning(_WEBHOOKS, _LATER, reading.checkout_id, extra=fields, error=error, traceback=True)

    def _note(self, attempt: CheckoutSummary) -> CheckoutMixin | None:
        return self._due_reads.note_webhook(attempt, self._clock(), self._cooldown)


def _plausible(checkout_id: str) -> bool:
    """Whether this text could be a stored id; the database is not queried for text that it cannot store."""
    return 0 < len(checkout_id) <= MAX_ID and checkout_id.isprintable()
