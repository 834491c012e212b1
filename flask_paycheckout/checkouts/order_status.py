"""The status of an order as its customer may see it, without amounts and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.due_reads import DueReads
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.start import is_crowded
from flask_paycheckout.checkouts.states import OPEN, FoundBy, Status, best_of
from flask_paycheckout.checkouts.stored import NEWEST, Checkouts, CheckoutSummary
from flask_paycheckout.clock import Clock
from flask_paycheckout.database.troubles import is_unavailable
from flask_paycheckout.service.calls import READ, NotAsked, Service
from flask_paycheckout.service.limits import SingleFlight
from flask_paycheckout.service.logs import FailureLog, about

# The least time between two reads that a waiting customer may cause, whatever the schedule says.
_PAGE_COOLDOWN = timedelta(seconds=5)
# Longer for an abandoned checkout, which is hardly ever paid.
_ABANDONED_COOLDOWN = timedelta(seconds=20)
# Seconds between two polls. With two, a payment is on the screen within three seconds of its webhook.
_EAGER, _PATIENT = 2, 20


class OrderStatus(msgspec.Struct, frozen=True):
    """The facts that the status page and its JSON show."""

    status: str
    """The status: `unpaid`, `created`, `pending`, `paid`, `held` or `abandoned`."""

    final: bool
    """Whether the status cannot change any more."""

    poll_after: int
    """Seconds until the next poll; 0 for no further one."""

    reason: str | None = None
    """The reason why the newest checkout was abandoned; None while the order is not abandoned."""

    crowded: bool = False
    """Whether the order has reached its limit of open payment pages."""

    refundable: bool = False
    """Whether there is a payment that can have been refunded: one that was paid or rejected."""

    unrecorded: bool = False
    """Whether the database could not record just now what the service says of a payment."""


class _Read(Enum):
    """What became of the read of one checkout."""

    LEFT = auto()
    """Others make it, or it may not be made now."""

    MADE = auto()
    UNRECORDED = auto()
    """The database could not record it; the stored state is as before."""


class OrderStatuses:
    """Gives the status of orders of one app, and reads their newest deposits when these are due."""

    def __init__(
        self,
        checkouts: Checkouts,
        due_reads: DueReads,
        settlement: Settlement,
        service: Service,
        clock: Clock,
        log: FailureLog,
    ) -> None:
        self._checkouts = checkouts
        self._due_reads = due_reads
        self._settlement = settlement
        self._service = service
        self._clock = clock
        self._log = log
        self._reading = SingleFlight()

    def of(self, order_id: str) -> OrderStatus:
        """The order's status now; if the service does not answer, the stored status.

        The cost does not depend on the order's history: only the newest few checkouts are read here, and reconcile
        reads the others.
        """
        newest, counts = self._look(order_id)
        if best_of(counts) in (Status.PAID, Status.HELD):
            return _status_of(newest, counts)
        now = self._clock()
        due = [attempt for attempt in newest[:NEWEST] if _due(attempt, now)]
        reads = [self._read(order_id, attempt, now) for attempt in due]
        if _Read.MADE in reads:
            newest, counts = self._look(order_id)
        crowded = is_crowded(self._checkouts, order_id, counts, now)
        return _status_of(newest, counts, crowded=crowded, unrecorded=_Read.UNRECORDED in reads)

    def _look(self, order_id: str) -> tuple[Sequence[CheckoutSummary], Mapping[str, int]]:
        """The newest checkouts, and the number of all checkouts in each status."""
        newest = self._checkouts.newest(order_id)
        if len(newest) > NEWEST:
            return newest, self._checkouts.counts(order_id)
        # There are no older ones.
        return newest, Counter([attempt.status for attempt in newest])

    def _read(self, order_id: str, attempt: CheckoutSummary, now: datetime) -> _Read:
        try:
            with self._reading.of(attempt.checkout_id) as free:
                if not free:
                    return _Read.LEFT
                # Permission first, and then the claim, so that a read that is not allowed now stays due for reconcile.
                with self._service.permit(READ, attempt.account) as permit:
                    reading = self._due_reads.claim_page_read(attempt, now)
                    if reading is None:
                        return _Read.LEFT
                    self._settlement.settle_attempt(reading, FoundBy.STATUS_PAGE, permit)
        except NotAsked:
            return _Read.LEFT
        except Exception as error:
            fields = about(order_id, attempt.checkout_id, attempt.account)
            told = "checkout %s could not be read for its status page", attempt.checkout_id
            self._log.warning("reads for status pages", *told, extra=fields, error=error, traceback=True)
            if isinstance(error, SQLAlchemyError) and is_unavailable(error):
                return _Read.UNRECORDED
        return _Read.MADE


def _due(attempt: CheckoutSummary, now: datetime) -> bool:
    """Whether a status page should read this checkout: it is due, or the newest one after its cool-down."""
    if attempt.status not in OPEN:
        return False
    if attempt.next_read_at is not None and attempt.next_read_at <= now:
        return True
    if attempt.current_order_id is None or attempt.failed_reads:
        return False
    cooldown = _ABANDONED_COOLDOWN if attempt.status == Status.ABANDONED else _PAGE_COOLDOWN
    return attempt.last_read_at is None or attempt.last_read_at <= now - cooldown


def _status_of(
    newest: Sequence[CheckoutSummary], counts: Mapping[str, int], *, crowded: bool = False, unrecorded: bool = False
) -> OrderStatus:
    status = best_of(counts)
    final, held = status == Status.PAID, status == Status.HELD
    # A held payment waits for a person; any other order may be paid at any moment, also on another device.
    poll_after = 0 if final else _PATIENT if held else _EAGER
    abandoned = [attempt.reason for attempt in newest if attempt.status == status == Status.ABANDONED]
    refundable = Status.PAID in counts or Status.REJECTED in counts
    reason = abandoned[0] if abandoned else None
    return OrderStatus(status, final, poll_after, reason, crowded, refundable, unrecorded and not final)
