"""The status of an order as its customer may see it, without amounts and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

import msgspec
from msgspec.structs import replace
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin, about_checkout
from flask_paycheckout.checkouts.ruling import ReadCause
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.start import is_crowded
from flask_paycheckout.checkouts.states import OPEN, UNFINISHED, FoundBy, Status, best_of
from flask_paycheckout.checkouts.stored import NEWEST, Checkouts
from flask_paycheckout.database.database_errors import is_unavailable
from flask_paycheckout.service.calls import READ, NotAsked, Service
from flask_paycheckout.service.limits import SingleFlight
from flask_paycheckout.wiring import Wiring

# The minimum time between two reads that a waiting customer may cause, whatever the schedule says.
_PAGE_COOLDOWN = timedelta(seconds=5)
# Longer for an abandoned checkout, which is hardly ever paid.
_ABANDONED_COOLDOWN = timedelta(seconds=20)
# Seconds between two polls. With two, a payment is on the screen within three seconds of its webhook.
_EAGER, _PATIENT = 2, 20


class OrderStatus(msgspec.Struct, frozen=True):
    """The facts that the status page and its JSON show."""

    newest: Sequence[CheckoutMixin]
    """The order's newest checkouts, newest first: `NEWEST`, and one more when there are older ones."""

    counts: Mapping[str, int]
    """The number of its checkouts in each status."""

    status: str
    """The status: `unpaid`, `created`, `pending`, `part`, `paid`, `held` or `abandoned`."""

    crowded: bool = False
    """Whether the order has reached its limit of open payment pages."""

    unrecorded: bool = False
    """Whether the database just failed to record the service's answer about a payment."""

    unread: bool = False
    """Whether a deposit cannot be read now, so that nobody here knows whether it was paid."""

    @property
    def is_unsure(self) -> bool:
        """Whether a payment may have arrived that is not stored."""
        return self.unrecorded or self.unread

    @property
    def final(self) -> bool:
        """Whether the status cannot change any more."""
        return self.status == Status.PAID

    @property
    def poll_after(self) -> int:
        """Seconds until the next poll; 0 for no further one."""
        # A held payment waits for a person; any other order may be paid at any moment, also on another device.
        return 0 if self.final else _PATIENT if self.status == Status.HELD else _EAGER

    @property
    def reason(self) -> str | None:
        """The reason why the newest checkout was abandoned; None while the order is not abandoned."""
        abandoned = (checkout.reason for checkout in self.newest if checkout.status == self.status == Status.ABANDONED)
        return next(abandoned, None)

    @property
    def has_part(self) -> bool:
        """Whether a part of the order's total has arrived."""
        return Status.PART in self.counts

    @property
    def refundable(self) -> bool:
        """Whether there is a payment that can have been refunded: one that was paid or rejected, or a part."""
        return Status.PAID in self.counts or Status.REJECTED in self.counts or self.has_part


class _Read(Enum):
    """The result of the read of one checkout."""

    LEFT = auto()
    """Another request or process makes it."""

    REFUSED = auto()
    """The service may not be called now."""

    MADE = auto()
    UNRECORDED = auto()
    """The database could not record it; the stored state is as before."""


@dataclass(frozen=True, eq=False)
class OrderStatuses:
    """Gives the status of orders of one app, and reads their newest deposits when these are due."""

    wiring: Wiring
    checkouts: Checkouts
    settlement: Settlement
    service: Service
    _reading: SingleFlight = field(default_factory=SingleFlight, init=False)

    def of(self, order_id: str) -> OrderStatus:
        """The order's status now; if the service does not answer, the stored status.

        The cost does not depend on the order's history: only the newest few checkouts are read here, and reconcile
        reads the others.
        """
        stored = self.stored(order_id)
        if stored.status in (Status.PAID, Status.HELD):
            return stored
        now = self.wiring.clock()
        reads = [self._read(checkout, now) for checkout in stored.newest[:NEWEST] if self._is_due(checkout, now)]
        if _Read.MADE in reads:
            stored = self.stored(order_id)
        crowded = is_crowded(self.checkouts, order_id, stored.counts, now)
        fails = any(checkout.failed_reads and checkout.status in UNFINISHED for checkout in stored.newest[:NEWEST])
        unread = (fails or _Read.REFUSED in reads) and stored.status in (*UNFINISHED, Status.PART)
        unrecorded = _Read.UNRECORDED in reads and not stored.final
        return replace(stored, crowded=crowded, unrecorded=unrecorded, unread=unread)

    def stored(self, order_id: str) -> OrderStatus:
        """The order's status as it is stored; nothing is read from the service."""
        newest = self.checkouts.newest(order_id)
        counts: Mapping[str, int] = Counter([checkout.status for checkout in newest])
        if len(newest) > NEWEST:
            # Count the older checkouts, too.
            counts = self.checkouts.counts(order_id)
        return OrderStatus(newest, counts, best_of(counts))

    def refreshed(self, seen: CheckoutMixin) -> CheckoutMixin:
        """Read a checkout if a visit of its page may do so now, or nothing else will; return it as it is stored then.

        The read leaves half of a web request's time for the rest of the request.
        """
        now = self.wiring.clock()
        is_due = seen.next_read_at is None or self._is_due(seen, now)
        if not is_due or self._read(seen, now, spare=self.service.web_timeout / 2) is _Read.REFUSED:
            return seen
        return self.checkouts.require(seen.checkout_id)

    def _is_due(self, checkout: CheckoutMixin, now: datetime) -> bool:
        """Whether a status page should read this checkout: it is due, or the newest one after its cool-down."""
        if checkout.status not in OPEN:
            return False
        due = checkout.next_read_at
        if due is not None and due <= now:
            return True
        if checkout.current_order_id is None or checkout.failed_reads:
            return False
        cooldown = _ABANDONED_COOLDOWN if checkout.status == Status.ABANDONED else _PAGE_COOLDOWN
        # The next read of a claimed checkout is planned for the end of its claim. Visits must not pile up reads while
        # the service is slow. A read that was planned for this time without a claim makes a page wait for one
        # cool-down.
        if due is not None and now - cooldown < due - self.wiring.claim <= now:
            return False
        # A time in the future is from before the clock was set back.
        last = checkout.last_read_at
        return last is None or not now - cooldown < last <= now

    def _read(self, checkout: CheckoutMixin, now: datetime, spare: float = 0.0) -> _Read:
        try:
            with self._reading.join(checkout.checkout_id) as (_, free):
                if not free:
                    return _Read.LEFT
                # Get the permit before the claim, so that a read that is not allowed now stays due for reconcile.
                with self.service.permit(READ, checkout.account) as permit:
                    reading = self.checkouts.claim_page_read(checkout, now)
                    if reading is None:
                        return _Read.LEFT
                    permit.slot.until -= spare
                    self.settlement.settle_loaded(reading, permit, ReadCause(FoundBy.STATUS_PAGE, now))
        except NotAsked:
            return _Read.REFUSED
        except Exception as error:
            self.wiring.log.exception(
                "reads for status pages",
                "checkout %s could not be read for its status page",
                checkout.checkout_id,
                extra=about_checkout(checkout),
            )
            if isinstance(error, SQLAlchemyError) and is_unavailable(error):
                return _Read.UNRECORDED
        return _Read.MADE
