"""The calls about money in: start, settle, reconcile, resolve, and the status of orders."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING

from flask import g, has_request_context

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.database.order_ids import require_order_id
from flask_paycheckout.database.shop_session import open_connection, refuse_uncommitted
from flask_paycheckout.operations.base import OperationsBase

if TYPE_CHECKING:
    from flask_paycheckout.books.explain import Explanation
    from flask_paycheckout.books.ledger import Line
    from flask_paycheckout.rounds.reconcile import ReconcileReport

__all__ = ["PaymentOperations"]


class PaymentOperations(OperationsBase):
    """The calls about money in of one app's shop."""

    def start(self, order_id: str) -> CheckoutMixin:
        """Make a checkout, or return the one still usable for an unchanged total.

        :returns: the checkout; send the customer to its `url`.
        :raises OrderNotPayable: `order_total` returned None.
        :raises OrderSettled: the order is paid, or a payment of it is held.
        :raises UncommittedChanges: `db.session` holds changes that are not committed.
        :raises UnsafeCheckoutUrl: the service's URL is outside PAYCHECKOUT_CHECKOUT_ORIGINS.
        :raises flask_paycheckout.client.PaymentsError: the service refused or could not be reached.
        """
        shop = self._runtime
        require_order_id(order_id)
        refuse_uncommitted(shop.db, f"start({order_id!r})")
        try:
            return shop.starter.start(order_id)
        finally:
            shop.record.write()

    def settle(self, checkout_id: str) -> CheckoutMixin:
        """Read the deposit now and apply what it says. Idempotent; safe to call from anywhere, at the same time.

        :returns: the checkout as it stands now.
        :raises UnknownCheckout: no such checkout is stored.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing changed.
        """
        return self._beside_session(f"settle({checkout_id!r})").settlement.settle(checkout_id)

    def reconcile(self, limit: int | None = None) -> ReconcileReport:
        """Settle every checkout that is due, deliver every undelivered event, send payouts and follow them.

        Payouts are sent when PAYCHECKOUT_ACCESS_TOKEN is set. They and the deposits do not wait for each other; the
        call ends when both are done.

        :param limit: read at most this many checkouts; None for all that are due.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises ValueError: `limit` is no whole number from 0 on.
        """
        _require_count(limit)
        return self._beside_session("reconcile()").reconciler.run(limit)

    def resolve(self, checkout_id: str, accept: bool, by: str, why: str) -> CheckoutMixin:
        """Decide a held payment; who and why are recorded, and `payment_resolved` fires.

        An accepted payment pays the order, and `order_paid` fires, unless another payment paid it already. A rejected
        payment, and an accepted second one, stays listed until it is refunded, or `mark_paid_back` says what became of
        the money.

        :param by: who decides; 255 characters at most.
        :param why: the reason; 1,000 characters at most.
        :returns: the checkout, now paid or rejected.
        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the checkout is not held.
        :raises ReceiverFailed: an atomic receiver raised; nothing was recorded.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        return self._beside_session(f"resolve({checkout_id!r})").resolutions.resolve(checkout_id, accept, by, why)

    def mark_paid_back(self, checkout_id: str, *, by: str, why: str, kept: bool = False) -> CheckoutMixin:
        """Record that money which paid no order was paid back, or is kept. No money is moved by this.

        :param by: who says so; 255 characters at most.
        :param why: how it was paid back, or why it is kept; 1,000 characters at most.
        :param kept: it is kept; it may still be marked as paid back later.
        :returns: the checkout, no longer listed.
        :raises UnknownCheckout: no such checkout is stored.
        :raises PaybackRefused: this money paid an order, is not decided yet, or is marked so already.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        return self._beside_session(f"mark_paid_back({checkout_id!r})").paybacks.mark(checkout_id, by, why, kept)

    # Orders

    def order_status(self, order_id: str) -> str:
        """The order's status: unpaid, created, pending, paid, held or abandoned.

        One indexed query, without any history; nothing is read from the service. Inside a transaction of `db.session`
        it sees what that transaction has written.

        :raises TypeError: the id is not a string.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        return self.order_statuses([order_id])[order_id]

    def order_statuses(self, order_ids: Iterable[str]) -> dict[str, str]:
        """The status of many orders, each by its id, with one query for every 500 of them.

        :raises TypeError: `order_ids` is a single string, or one of the ids is not a string.
        :raises ValueError: one of the ids is empty, too long, or holds control characters.
        """
        if isinstance(order_ids, (str, bytes)):
            raise TypeError(
                f"order_ids must be several order ids, not one {type(order_ids).__name__};"
                " for a single order call order_status(order_id)"
            )
        wanted = [require_order_id(order_id) for order_id in order_ids]
        shop = self._runtime
        found = shop.checkouts.order_statuses(wanted, open_connection(shop.db, shop.models.Checkout))
        if has_request_context():
            # For the pay buttons of this request, so that a list of orders needs this query alone.
            g.setdefault("paycheckout_statuses", {}).update(found)
        return found

    def explain(self, order_id: str) -> Explanation:
        """Explain an order: every attempt, webhook, read and comparison, the rule that decided, refunds and payouts.

        :raises TypeError: the id is not a string.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        # Late, like all reports: a web process seldom makes one, and would load them at its start.
        from flask_paycheckout.books.explain import explain

        require_order_id(order_id)
        shop = self._for_reading(f"explain({order_id!r})")
        return explain(shop.engine(), shop.models, shop.checkouts, shop.payouts, order_id)

    def books(
        self,
        start: datetime | date | str | None = None,
        end: datetime | date | str | None = None,
        account: str | None = None,
    ) -> list[Line]:
        """The lines of the books, oldest first, as `flask paycheckout export` writes them.

        :param start: the first date or time that is included, in PAYCHECKOUT_TIME_ZONE where it names no zone;
            None for the beginning.
        :param end: the first date or time that is not included; None for now.
        :param account: only those of this merchant account; "" is the one of the settings, None for all.
        :raises ValueError: a text is no date or time.
        """
        from flask_paycheckout.books.periods import Period, moment_of

        books = self._for_reading("books()").books
        since, until = (None if at is None else moment_of(at, books.zone) for at in (start, end))
        return list(books.read(Period(since, until, account)))


def _require_count(limit: object) -> None:
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise ValueError(f"limit must be a whole number from 0 on, or None for all that are due, not {limit!r}")
