"""Start: make a checkout upstream, store it, and only then hand out its URL.

The service has no idempotency key, no list and no cancel for checkouts. So a create whose answer was lost may be
repeated, because nobody holds its URL; and an attempt that was replaced stays known, because its page stays payable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from flask_paycheckout.attempts import Attempts
from flask_paycheckout.client import PaymentsClient, TransportFailed
from flask_paycheckout.clock import Clock
from flask_paycheckout.errors import OrderNotPayable, OrderSettled, StartContended, UnsafeCheckoutUrl
from flask_paycheckout.models import MAX_ID, CheckoutMixin
from flask_paycheckout.order_ids import require_order_id
from flask_paycheckout.origins import require_allowed
from flask_paycheckout.outbox import Outbox
from flask_paycheckout.schedule import PAGE_VALID
from flask_paycheckout.service_record import START, ServiceRecord
from flask_paycheckout.states import Status, best_of
from flask_paycheckout.totals import NothingToPay, Total

__all__ = ["Checkouts"]

# A page with less time left than this is not worth sending a customer to.
_USEFUL = timedelta(seconds=30)
_MAX_ROUNDS = 4


class Checkouts:
    """Starts the checkouts of one app.

    :param ask_total: the shop's `order_total`, asked in an application context of its own.
    :param record: notes whether checkouts can be made.
    """

    def __init__(
        self,
        attempts: Attempts,
        outbox: Outbox,
        client: PaymentsClient,
        clock: Clock,
        ask_total: Callable[[str], Total | None],
        allowed_origins: tuple[str, ...],
        record: ServiceRecord,
    ) -> None:
        self._attempts = attempts
        self._outbox = outbox
        self._client = client
        self._clock = clock
        self._ask_total = ask_total
        self._allowed_origins = allowed_origins
        self._record = record

    def start(self, order_id: str) -> CheckoutMixin:
        """The order's usable checkout for its total now, made when there is none.

        :raises OrderNotPayable: `order_total` returned None, or a total of nothing.
        :raises ReceiverFailed: an atomic receiver of `checkout_created` raised.
        :raises OrderSettled: the order is paid, or a payment of it is held.
        :raises UnsafeCheckoutUrl: the service's URL is outside the allowed origins.
        :raises StartContended: other starts of this order kept winning.
        :raises flask_paycheckout.client.PaymentsError: the service refused or could not be reached.
        """
        require_order_id(order_id)
        for _ in range(_MAX_ROUNDS):
            attempts = self._attempts.of_order(order_id)
            _refuse_settled(order_id, attempts)
            try:
                total = self._ask_total(order_id)
            except NothingToPay:
                raise OrderNotPayable(order_id, free=True) from None
            if total is None:
                raise OrderNotPayable(order_id)
            current = next((attempt for attempt in attempts if attempt.current_order_id), None)
            if current is not None and self._usable(current, total):
                return current
            made = self._create(order_id, total, current)
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

    def _create(self, order_id: str, total: Total, current: CheckoutMixin | None) -> CheckoutMixin | None:
        """Make one upstream and store it; None when another start was first, whose checkout then counts."""
        with self._record.call(START):
            link = self._client.checkouts.create(total)
            if not 0 < len(link.id) <= MAX_ID or not link.id.isprintable():
                raise TransportFailed("POST /v1/checkout", "the answer's id is none that can be stored")
            require_allowed(link.url, self._allowed_origins)
        event = self._attempts.store(order_id, link.id, link.url, total, self._clock(), current)
        if event is None:
            return None
        self._outbox.deliver([event])
        # A receiver may have written to the row.
        return event.checkout if event.delivered else self._attempts.find(link.id)


def _refuse_settled(order_id: str, attempts: Sequence[CheckoutMixin]) -> None:
    status = best_of({attempt.status for attempt in attempts})
    if status in (Status.PAID, Status.HELD):
        raise OrderSettled(order_id, status)
