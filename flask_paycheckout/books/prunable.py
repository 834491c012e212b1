"""What may be removed once it is old, as conditions on rows. Everything else stays.

Money is never removed: not a row with any, nor a column of it, nor a payout's row, whose reference keeps the same
payout from being made again, nor the unique columns that keep an order from being paid twice. An abandoned checkout
whose deposit the service ever showed stays as well, because the service may still complete that deposit.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Table, and_, exists, func, or_

from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS
from flask_paycheckout.checkouts.ruling import COMPLETED
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.payouts.payout_states import PayoutStatus

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["Prunable"]

Condition = ColumnElement[bool]

_PAID = (Status.PAID, Status.REJECTED)
_FINAL_PAYOUTS = (PayoutStatus.COMPLETED, PayoutStatus.CANCELLED)


class Prunable:
    """The conditions of one run.

    :param before: only what was decided, and delivered, before this time.
    :param abandoned_before: only checkouts that were abandoned before this time are removed as a whole.
    """

    def __init__(self, models: Models, before: datetime, abandoned_before: datetime) -> None:
        self._checkouts: Table = models.checkouts
        self._payouts: Table = models.payouts
        self._events: Table = models.events
        self._before = before
        self._abandoned_before = min(before, abandoned_before)

    def checkout_history(self) -> Condition:
        """A checkout whose history may go; not one that goes as a whole."""
        return and_(self._is_unpruned(self._checkouts), self._checkout_is_decided(), ~self.checkout())

    def payout_history(self) -> Condition:
        """A payout whose history may go."""
        return and_(self._is_unpruned(self._payouts), self._payout_is_decided())

    def event(self, *, dry_run: bool) -> Condition:
        """An event that may go: its receivers have run, and the row that it is about says that it was pruned.

        :param dry_run: whether the row need not say so yet.
        """
        e, checkouts, payouts = self._events.c, self._checkouts, self._payouts
        of_checkout: Condition = checkouts.c.pruned_at.is_not(None)
        of_payout: Condition = payouts.c.pruned_at.is_not(None)
        if dry_run:
            of_checkout = or_(of_checkout, self._checkout_is_decided())
            of_payout = or_(of_payout, self._payout_is_decided())
        about_checkout = exists().where(checkouts.c.checkout_id == e.checkout_id, of_checkout)
        about_payout = exists().where(payouts.c.reference == e.payout_reference, of_payout)
        no_payout = e.payout_reference.is_(None)
        about = or_(and_(no_payout, about_checkout), and_(~no_payout, about_payout))
        return and_(self.is_delivered(), about)

    def is_delivered(self) -> Condition:
        """An event whose last receiver ran long ago, or that was superseded then."""
        e = self._events.c
        return and_(e.next_attempt_at.is_(None), func.coalesce(e.delivered_at, e.superseded_at) < self._before)

    def checkout(self) -> Condition:
        """A checkout that may go as a whole: nobody ever picked a payment method, so that there is no deposit.

        Nor is there anything that knows it: no refund, no webhook, and no event that is younger or not delivered.
        """
        c, e, p = self._checkouts.c, self._events.c, self._payouts.c
        never = ("paid_order_id", "payback", "refunded_amount", "found_by", "deposit_status", *PAYMENT_COLUMNS)
        told = and_(
            e.order_id == c.order_id, e.checkout_id == c.checkout_id, ~func.coalesce(self.is_delivered(), False)
        )
        return and_(
            self._is_over(),
            c.moved_at < self._abandoned_before,
            c.webhooks == 0,
            *(c[name].is_(None) for name in never),
            ~exists().where(told),
            ~exists().where(p.refund_of == c.checkout_id),
        )

    def _checkout_is_decided(self) -> Condition:
        c = self._checkouts.c
        # Money that paid no order waits for a person.
        settled = and_(_is_one_of(c.status, _PAID), or_(c.paid_order_id.is_not(None), c.payback.is_not(None)))
        e = self._events.c
        waiting = (e.order_id == c.order_id, e.checkout_id == c.checkout_id, e.next_attempt_at.is_not(None))
        return and_(c.moved_at < self._before, or_(settled, self._is_over()), ~exists().where(*waiting))

    def _is_over(self) -> Condition:
        """An abandoned checkout that nothing reads any more."""
        c = self._checkouts.c
        unread = [c[name].is_(None) for name in ("next_read_at", "webhook_due_at", "problem", "problem_since")]
        never_arrived = and_(c.payment_completed_at.is_(None), c.payment_paid_amount.is_(None))
        no_money = and_(never_arrived, func.coalesce(c.deposit_status, "") != COMPLETED)
        return and_(c.status == Status.ABANDONED.value, no_money, *unread)

    def _payout_is_decided(self) -> Condition:
        p, e = self._payouts.c, self._events.c
        # A token transfer that was sent has no next step, and is at its end.
        ended = and_(p.status == PayoutStatus.SENT.value, p.next_attempt_at.is_(None))
        idle = [p[name].is_(None) for name in ("lease_token", "problem", "problem_since")]
        waiting = exists().where(e.payout_reference == p.reference, e.next_attempt_at.is_not(None))
        return and_(p.moved_at < self._before, or_(_is_one_of(p.status, _FINAL_PAYOUTS), ended), *idle, ~waiting)

    @staticmethod
    def _is_unpruned(table: Table) -> Condition:
        """Not pruned since the row was last moved."""
        c: Any = table.c
        return or_(c.pruned_at.is_(None), c.pruned_at <= c.moved_at)


def _is_one_of(column: ColumnElement[Any], statuses: Iterable[str]) -> Condition:
    """Like IN, which a statement that is run with many rows cannot have."""
    return or_(*(column == str(status) for status in statuses))
