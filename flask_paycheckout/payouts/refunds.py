"""Refunds as a person makes them, on a page or by a command: committed at once, and once for what the person saw."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.payments import Amount
from flask_paycheckout.checkouts.states import OPEN
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.events.shop_transaction import Scope
from flask_paycheckout.payouts.paybacks import PAID_BACK
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.refund_limits import rest_of
from flask_paycheckout.payouts.requests import PayoutRequests
from flask_paycheckout.payouts.stored import Payouts

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["RefundablePayment", "Refunds"]


# More digits than any sum has; the caller's own decimal context could round.
_EXACT = Context(prec=600)


class RefundablePayment(msgspec.Struct, frozen=True):
    """A payment of which a part, or all, can be refunded."""

    checkout: CheckoutMixin
    arrived: Amount
    left: Amount
    """The part that refunds have not taken."""

    refunds: tuple[PayoutMixin, ...]
    """The refunds so far, oldest first."""

    @property
    def seen(self) -> str:
        """The refunds so far, in a text that any further refund changes."""
        return _seen(len(self.refunds), self.checkout.refunded_amount)


class Refunds:
    """Makes the refunds of one app that a person asks for.

    :param scope: opens an application context with a session of its own.
    """

    def __init__(
        self, scope: Scope, models: Models, checkouts: Checkouts, payouts: Payouts, requests: PayoutRequests
    ) -> None:
        self._scope = scope
        self._models = models
        self._checkouts = checkouts
        self._payouts = payouts
        self._requests = requests

    def of(self, checkout_id: str) -> RefundablePayment | None:
        """The payment of a checkout with its refunds; None when it is unknown, or has no money to refund."""
        checkout = self._checkouts.find(checkout_id)
        if checkout is None or checkout.status in OPEN or checkout.payback == PAID_BACK:
            return None
        paid = checkout.payment and checkout.payment.paid
        if not paid or paid.amount <= 0:
            return None
        left = Amount(rest_of(paid.amount, checkout.refunded_amount), paid.currency)
        return RefundablePayment(checkout, paid, left, tuple(self._payouts.of_checkout(checkout_id)))

    def make(
        self, checkout_id: str, amount: Decimal | int | str | None, by: str, why: str, seen: str | None
    ) -> PayoutMixin | None:
        """Make a refund and commit it; arguments and errors as for `PayCheckout.refund`.

        :param seen: `RefundablePayment.seen` as the person saw it.
        :returns: None when there were other refunds since then; nothing is stored.
        """
        with self._scope() as scoped:
            session: Session = scoped()
            try:
                made = self._requests.refund(checkout_id, amount, by, why, None)
                # The checkout's row is locked by now, so nobody else can add a refund before the commit.
                if seen is not None and self._seen_before(session, made) != seen:
                    session.rollback()
                    return None
                reference = made.reference
                session.commit()
            except BaseException:
                session.rollback()
                raise
        return self._payouts.find(reference)

    def _seen_before(self, session: Session, made: PayoutMixin) -> str:
        payout: Any = self._models.Payout
        checkout: Any = self._models.Checkout
        count = session.scalars(select(func.count()).where(payout.refund_of == made.refund_of)).one() - 1
        total = session.scalars(select(checkout.refunded_amount).where(checkout.checkout_id == made.refund_of)).one()
        return _seen(count, str(rest_of(Decimal(total), made.exact_amount)))


def _seen(count: int, refunded: str | None) -> str:
    return f"{count}:{Decimal(refunded or 0).normalize(_EXACT):f}"
