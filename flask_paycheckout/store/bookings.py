"""Bookings: each movement of a payout's money, inserted in the transaction of the payout's move, and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Table

from flask_paycheckout.rules.books import LineKind, booked_as
from flask_paycheckout.rules.payout_states import PayoutKind, PayoutStatus
from flask_paycheckout.store.models import Models

__all__ = ["Bookings", "booking_row"]


class Bookings:
    """Stores the bookings of one app's payouts."""

    def __init__(self, models: Models) -> None:
        self._table: Table = models.bookings

    def book(self, connection: Connection, before: PayoutStatus, payout: Mapping[Any, Any], now: datetime) -> None:
        """Book a move, if it moves money, in the move's own transaction.

        :param before: the state before the move.
        :param payout: the payout's row after the move, every column by its name.
        """
        kind = booked_as(PayoutKind(payout["kind"]), before, PayoutStatus(payout["status"]))
        if kind is not None:
            connection.execute(self._insert, booking_row(kind, payout, now))

    @cached_property
    def _insert(self) -> Any:
        return self._table.insert().inline()


def booking_row(kind: LineKind, payout: Mapping[Any, Any], booked_at: datetime) -> dict[str, Any]:
    """The row that books a movement of this payout.

    :param payout: the payout's row, every column by its name.
    """
    same = ("reference", "service_reference", "disbursement_id", "account", "order_id", "amount", "currency")
    booking = {name: payout[name] for name in same}
    return booking | {"kind": kind.value, "booked_at": booked_at, "checkout_id": payout["refund_of"]}
