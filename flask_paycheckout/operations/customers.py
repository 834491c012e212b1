"""What customers and the service's webhooks cause: reads of deposits, status pages, where a refund goes."""

from __future__ import annotations

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.order_status import OrderStatus
from flask_paycheckout.checkouts.payments import Payment
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.database.order_ids import require_order_id
from flask_paycheckout.database.shop_session import let_clean_go, open_connection
from flask_paycheckout.errors import UnknownPayout
from flask_paycheckout.operations.base import OperationsBase
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind
from flask_paycheckout.payouts.refund_forms import RefundForm
from flask_paycheckout.payouts.refund_progress import OrderRefunds, read_refunds

__all__ = ["CustomerOperations"]


class CustomerOperations(OperationsBase):
    """The calls that the pages of customers and the webhook make."""

    def release_session(self) -> None:
        """Let go of the connection of the shop's session, if it has only read, before a page of ours takes one."""
        let_clean_go(self._runtime.db)

    def receive_webhook(self, checkout_id: str) -> str:
        """Store that a webhook named this checkout, and read its deposit when that is due. See `Webhooks.receive`."""
        return self._beside_session("the webhook").webhooks.receive(checkout_id)

    def receive_payout_webhook(self) -> None:
        """Let sent payouts be read soon, since a webhook about no checkout came; it may have been about any of them."""
        self._beside_session("the webhook").payout_hints.receive()

    def settle_for_webhook(self, checkout_id: str) -> CheckoutMixin:
        """Read the deposit that a webhook hinted at, and apply what it says; parameters and errors as for `settle`."""
        return self._beside_session(f"settle({checkout_id!r})").settlement.settle(checkout_id, FoundBy.WEBHOOK)

    def read_order_status(self, order_id: str) -> OrderStatus:
        """The order's status for its status page; reads the newest deposits when they are due."""
        require_order_id(order_id)
        return self._beside_session("the status page").statuses.of(order_id)

    # The page of a refund

    def require_refund(self, reference: str) -> PayoutMixin:
        """The refund with this reference; inside a transaction of `db.session` also one that it has just stored.

        :raises UnknownPayout: no such payout is stored.
        :raises ValueError: it is no refund.
        """
        require_order_id(reference, "reference")
        shop = self._runtime
        payout = shop.payouts.find(reference, open_connection(shop.db, shop.models.Payout))
        if payout is None:
            raise UnknownPayout(reference)
        if payout.kind != PayoutKind.REFUND:
            raise ValueError(f"payout {reference!r} is no refund, so no customer says where it goes")
        return payout

    def read_refunds(self, order_id: str) -> OrderRefunds:
        """How far payments of an order were paid back, for its status page."""
        return read_refunds(self._runtime.payouts, self._runtime.checkouts, order_id)

    def read_payments(self, order_id: str) -> list[Payment]:
        """The newest payments that arrived for an order, for its status page."""
        return self._runtime.checkouts.payments(order_id)

    def find_refund(self, reference: str) -> PayoutMixin | None:
        """The refund with this reference, for its page; None when there is none."""
        return self._runtime.refund_claims.find(reference)

    def claim_refund(self, reference: str, form: RefundForm) -> PayoutMixin:
        """Store where a refund goes, as the customer says on its page. See `RefundClaims.claim`."""
        shop = self._beside_session("the refund page")
        try:
            return shop.refund_claims.claim(reference, form)
        finally:
            shop.record.write()
