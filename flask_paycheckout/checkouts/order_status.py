"""The status of an order as its customer may know it: no amount, no id."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.start import is_crowded
from flask_paycheckout.clock import Clock
from flask_paycheckout.rules.states import OPEN, FoundBy, Status, best_of
from flask_paycheckout.service.calls import READ, NotAsked, Service
from flask_paycheckout.service.single_flight import Flights
from flask_paycheckout.store.checkouts import NEWEST, Checkouts, CheckoutSummary
from flask_paycheckout.store.due_reads import DueReads

__all__ = ["OrderStatus", "OrderStatuses"]

# A customer who waits may cause a read this often, whatever the schedule says.
_PAGE_COOLDOWN = timedelta(seconds=5)
# An attempt that seems to be over is hardly ever paid, however long its customer looks.
_ABANDONED_COOLDOWN = timedelta(seconds=20)
# A payment that a webhook told of is on the customer's screen within three seconds: waiting, asking, showing.
_EAGER, _PATIENT = 2, 20

_log = logging.getLogger("flask_paycheckout")


@dataclass(frozen=True)
class OrderStatus:
    """The facts that the status page and its JSON show."""

    #: unpaid, created, pending, paid, held or abandoned.
    status: str
    #: No later news is to be expected.
    final: bool
    #: Seconds until asking again is worthwhile; 0 when it is not.
    poll_after: int
    #: Why the newest attempt was abandoned; None while the order is not abandoned.
    reason: str | None = None
    #: The order has so many open payment pages that it gets no other one now.
    crowded: bool = False


class OrderStatuses:
    """Tells the status of orders of one app, reading the newest deposits when they are due."""

    def __init__(
        self, checkouts: Checkouts, due_reads: DueReads, settlement: Settlement, service: Service, clock: Clock
    ) -> None:
        self._checkouts = checkouts
        self._due_reads = due_reads
        self._settlement = settlement
        self._service = service
        self._clock = clock
        self._reading = Flights()

    def of(self, order_id: str) -> OrderStatus:
        """The order's status now; a service that does not answer leaves it as it was stored.

        Costs the same whatever the order's history: older attempts than the newest few are left to reconcile.
        """
        newest, counts = self._look(order_id)
        now = self._clock()
        if best_of(set(counts)) not in (Status.PAID, Status.HELD):
            due = [attempt for attempt in newest[:NEWEST] if _due(attempt, now)]
            # Each of them, not only as many as it takes to find news.
            if sum(self._read(attempt, now) for attempt in due):
                newest, counts = self._look(order_id)
        return _status_of(newest, counts)

    def _look(self, order_id: str) -> tuple[Sequence[CheckoutSummary], Mapping[str, int]]:
        """The newest attempts, and how many there are of each status."""
        newest = self._checkouts.newest(order_id)
        if len(newest) > NEWEST:
            return newest, self._checkouts.counts(order_id)
        # These are all that there are.
        return newest, Counter(attempt.status for attempt in newest)

    def _read(self, attempt: CheckoutSummary, now: datetime) -> bool:
        try:
            with self._reading.of(attempt.checkout_id) as free:
                if not free:
                    return False
                # Before the read is claimed: what may not be read now stays due for reconcile.
                with self._service.turn(READ) as turn:
                    reading = self._due_reads.claim_page_read(attempt, now)
                    if reading is None:
                        return False
                    self._settlement.settle_attempt(reading, FoundBy.STATUS_PAGE, turn)
        except NotAsked:
            return False
        except Exception:
            _log.warning("checkout %s could not be read for its page", attempt.checkout_id, exc_info=True)
        return True


def _due(attempt: CheckoutSummary, now: datetime) -> bool:
    """An open attempt whose turn has come, or the order's newest one while its customer waits."""
    if attempt.status not in OPEN:
        return False
    if attempt.next_read_at is not None and attempt.next_read_at <= now:
        return True
    if attempt.current_order_id is None or attempt.failed_reads:
        return False
    cooldown = _ABANDONED_COOLDOWN if attempt.status == Status.ABANDONED else _PAGE_COOLDOWN
    return attempt.last_read_at is None or attempt.last_read_at <= now - cooldown


def _status_of(newest: Sequence[CheckoutSummary], counts: Mapping[str, int]) -> OrderStatus:
    status = best_of(set(counts))
    final, held = status == Status.PAID, status == Status.HELD
    # A person decides on what is held; everything else may be paid at any moment, on another device too.
    poll_after = 0 if final else _PATIENT if held else _EAGER
    abandoned = [attempt.reason for attempt in newest if attempt.status == status == Status.ABANDONED]
    crowded = is_crowded(counts) and not (final or held)
    return OrderStatus(status, final, poll_after, abandoned[0] if abandoned else None, crowded)
