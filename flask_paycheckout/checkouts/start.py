"""Start: make a checkout upstream, store it, and only then hand out its URL.

The service has no idempotency key, no list and no cancel for checkouts. So a create whose answer was lost may be
repeated, because nobody holds its URL; and an attempt that was replaced stays known, because its page stays payable.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from sqlalchemy.exc import OperationalError

from flask_paycheckout.checkouts.outbox import Outbox
from flask_paycheckout.client import PaymentsError, RequestRefused, TransportFailed
from flask_paycheckout.client.records.checkouts import CheckoutLink
from flask_paycheckout.clock import Clock
from flask_paycheckout.errors import (
    OrderNotPayable,
    OrderSettled,
    StartContended,
    TooManyAttempts,
    UnsafeCheckoutUrl,
)
from flask_paycheckout.rules.order_ids import require_order_id
from flask_paycheckout.rules.schedule import PAGE_VALID
from flask_paycheckout.rules.states import Status, best_of
from flask_paycheckout.security.origins import require_allowed
from flask_paycheckout.service.calls import CREATE, NotAsked, Service, is_answer
from flask_paycheckout.service.record import START, ServiceRecord
from flask_paycheckout.service.single_flight import Flight, Flights
from flask_paycheckout.store.checkouts import Checkouts
from flask_paycheckout.store.database_errors import is_lock_timeout
from flask_paycheckout.store.models import MAX_ID, CheckoutMixin
from flask_paycheckout.store.moves import Moves
from flask_paycheckout.totals import NothingToPay, Total

__all__ = ["Starter", "is_crowded"]

# A page with less time left than this is not worth sending a customer to.
_USEFUL = timedelta(seconds=30)
_MAX_ROUNDS = 4
# Attempts of an order that may still be paid: each change of its total makes one, and each has to be watched.
_MOST_OPEN = 20
# Seconds after which an order with so many may be tried again; a page that nobody picked a method on lapses by itself.
_CROWDED = 300.0
# Seconds for which an order that the service refused is not asked for again; more if it says so, but not much more.
_REFUSED, _REFUSED_LONGEST = 5.0, 60.0
# Refused orders that are remembered; the oldest are forgotten first.
_MOST_REFUSED = 1000


def is_crowded(counts: Mapping[str, int]) -> bool:
    """Whether an order with so many attempts of each status gets no other one."""
    return sum(counts.get(status, 0) for status in (Status.CREATED, Status.PENDING)) >= _MOST_OPEN


class Starter:
    """Starts the checkouts of one app.

    :param ask_total: the shop's `order_total`, asked in an application context of its own.
    :param record: notes whether checkouts can be made.
    :param now: seconds that only move forward.
    """

    def __init__(
        self,
        checkouts: Checkouts,
        moves: Moves,
        outbox: Outbox,
        service: Service,
        clock: Clock,
        ask_total: Callable[[str], Total | None],
        allowed_origins: tuple[str, ...],
        record: ServiceRecord,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._checkouts = checkouts
        self._moves = moves
        self._outbox = outbox
        self._service = service
        self._clock = clock
        self._ask_total = ask_total
        self._allowed_origins = allowed_origins
        self._record = record
        self._starting = Flights()
        self._refused = _Refused(now)

    def start(self, order_id: str) -> CheckoutMixin:
        """The order's usable checkout for its total now, made when there is none.

        :raises OrderNotPayable: `order_total` returned None, or a total of nothing.
        :raises ReceiverFailed: an atomic receiver of `checkout_created` raised.
        :raises OrderSettled: the order is paid, or a payment of it is held.
        :raises UnsafeCheckoutUrl: the service's URL is outside the allowed origins.
        :raises StartContended: other starts of this order kept winning.
        :raises TooManyAttempts: the order has as many open payment pages as it may have.
        :raises flask_paycheckout.client.PaymentsError: the service refused or could not be reached.
        """
        require_order_id(order_id)
        for _ in range(_MAX_ROUNDS):
            counts = self._checkouts.counts(order_id)
            _refuse_settled(order_id, counts)
            try:
                total = self._ask_total(order_id)
            except NothingToPay:
                raise OrderNotPayable(order_id, free=True) from None
            except OperationalError as error:
                if is_lock_timeout(error):
                    raise StartContended(order_id, locked=True) from error
                raise
            if total is None:
                raise OrderNotPayable(order_id)
            current = self._checkouts.current(order_id)
            if current is not None and self._usable(current, total):
                return current
            if is_crowded(counts):
                raise TooManyAttempts(order_id, _MOST_OPEN, _CROWDED)
            self._refused.raise_again(order_id, total)
            with self._starting.join(order_id) as (flight, mine):
                if not (mine or flight.of_this_thread):
                    self._wait_for(flight)
                    continue
                made = self._make(order_id, total)
            if made is not None:
                return made
        raise StartContended(order_id)

    def _usable(self, current: CheckoutMixin, total: Total) -> bool:
        fresh = self._clock() < current.created_at + PAGE_VALID - _USEFUL
        if not fresh or current.status not in (Status.CREATED, Status.PENDING) or current.total != total:
            return False
        try:
            # The settings may be stricter by now, and other programs write to the shop's database.
            require_allowed(current.url, self._allowed_origins)
        except UnsafeCheckoutUrl:
            return False
        return True

    def _make(self, order_id: str, total: Total) -> CheckoutMixin | None:
        """Make the order's checkout, while nobody else in this process does."""
        current = self._checkouts.current(order_id)
        if current is not None and self._usable(current, total):
            # Made since it was last looked for.
            return current
        link = self._create(order_id, total)
        stored = self._moves.store(order_id, link.id, link.url, total, self._clock(), current)
        if stored is None:
            return None
        self._outbox.deliver(stored.events)
        if all(event.delivered for event in stored.events):
            return stored.checkout
        # A receiver may have written to the row.
        return self._checkouts.find(link.id)

    def _create(self, order_id: str, total: Total) -> CheckoutLink:
        """Make a checkout at the service, which nobody knows of yet."""
        # Outside of the record: a call that was not made did not fail.
        with self._service.turn(CREATE) as turn, self._record.call(START):
            try:
                link = turn.create(total)
            except RequestRefused as error:
                if is_answer(error):
                    self._refused.remember(order_id, total, error)
                raise
            if not 0 < len(link.id) <= MAX_ID or not link.id.isprintable():
                raise TransportFailed(CREATE, "the answer's id is none that can be stored")
            require_allowed(link.url, self._allowed_origins)
            return link

    def _wait_for(self, flight: Flight) -> None:
        """Wait until another request has made this order's checkout, which can then be loaded.

        :raises flask_paycheckout.client.PaymentsError: the other request's error, or it takes too long.
        """
        with self._service.waiting(CREATE) as seconds:
            over = flight.wait(seconds)
        if not over:
            raise NotAsked(CREATE, "another request is making this order's checkout", _REFUSED)
        if isinstance(flight.error, PaymentsError):
            raise copy.copy(flight.error)


class _Refused:
    """What the service refused lately: the same total of the same order would only be refused again."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._of_order: dict[str, tuple[Total, RequestRefused, float]] = {}

    def remember(self, order_id: str, total: Total, error: RequestRefused) -> None:
        if len(self._of_order) >= _MOST_REFUSED:
            self._of_order.pop(next(iter(self._of_order), order_id), None)
        wait = min(max(_REFUSED, error.retry_after or 0.0), _REFUSED_LONGEST)
        self._of_order[order_id] = total, error, self._now() + wait

    def raise_again(self, order_id: str, total: Total) -> None:
        """Raise what the service said, while it would say the same."""
        refused, error, until = self._of_order.get(order_id, (None, None, 0.0))
        left = until - self._now()
        if error is None or refused != total or left <= 0:
            return
        again = copy.copy(error)
        again.retry_after = max(1.0, left)
        raise again


def _refuse_settled(order_id: str, counts: Mapping[str, int]) -> None:
    status = best_of(set(counts))
    if status in (Status.PAID, Status.HELD):
        raise OrderSettled(order_id, status)
