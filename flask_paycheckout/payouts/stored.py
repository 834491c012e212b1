"""Queries of the payout table. They use the extension's own connections, so they never commit the shop's changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, Engine, Table, func, select

from flask_paycheckout.database.autocommit import autocommit
from flask_paycheckout.database.order_ids import is_order_id
from flask_paycheckout.database.parameters import is_of
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutStatus

if TYPE_CHECKING:
    from flask_paycheckout.models import Models


class RefundState(NamedTuple):
    """A state in which refunds of one amount of a payment are."""

    checkout_id: str
    paid_order_id: str | None
    """The id of the order that the payment paid; None when it paid none."""

    payback: str | None
    status: str
    currency: str
    amount: str
    times: int


class Payouts:
    """The stored payouts of one app.

    :param engine: returns the engine of the payout table, when first needed.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models) -> None:
        self._engine = engine
        self._models = models
        self._table: Table = models.payouts

    def find(self, reference: str, connection: Connection | None = None) -> PayoutMixin | None:
        """The payout with this reference, detached from any session.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        if not is_order_id(reference):
            return None
        if connection is None:
            return next(iter(self._loaded(self._select_by_reference, of_reference=reference)), None)
        row = connection.execute(self._select_by_reference, {"of_reference": reference}).mappings().one_or_none()
        return None if row is None else self._models.payout_of_row(row)

    def find_in(self, connection: Connection, reference: str) -> PayoutMixin:
        """The payout with this reference as this transaction sees it, detached from any session."""
        found = connection.execute(self._select_by_reference, {"of_reference": reference})
        return self._models.payout_of_row(found.mappings().one())

    def of_checkout(self, checkout_id: str) -> Sequence[PayoutMixin]:
        """The refunds of a checkout, oldest first."""
        return self._loaded(self._select_by_checkout, of_refund_of=checkout_id)

    def of_order(self, order_id: str) -> Sequence[PayoutMixin]:
        """The payouts and refunds of an order, oldest first."""
        return self._loaded(self._select_by_order, of_order_id=order_id)

    def refund_states(self, order_id: str) -> Sequence[RefundState]:
        """The states of an order's refunds, each once for each payment and amount; without cancelled ones.

        Their number does not grow with the number of refunds of one amount.
        """
        with self._single.connect() as connection:
            found = connection.execute(self._select_refund_states, {"of_order_id": order_id})
            return [RefundState(*row) for row in found]

    def sent_before(self, account: str, client_id: str | None, before: datetime) -> str | None:
        """The service reference of the newest bank transfer that the service had by then; None when there is none."""
        c = self._table.c
        sent = (
            select(c.service_reference)
            .where(c.account == account, c.client_id.is_not_distinct_from(client_id), c.to_kind != "wallet")
            .where(c.status.in_([PayoutStatus.SENT.value, PayoutStatus.COMPLETED.value]), c.moved_at < before)
            .where(c.disbursement_id.is_not(None))
        )
        with self._single.connect() as connection:
            return connection.execute(sent.order_by(c.id.desc()).limit(1)).scalar_one_or_none()

    def counts(self) -> dict[str, int]:
        """The number of payouts in each state."""
        status = self._table.c.status
        with self._single.connect() as connection:
            return dict(connection.execute(select(status, func.count()).group_by(status)).all())

    def _loaded(self, statement: Any, **parameters: str) -> list[PayoutMixin]:
        with self._single.connect() as connection:
            return [self._models.payout_of_row(row) for row in connection.execute(statement, parameters).mappings()]

    @cached_property
    def _single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self._engine())

    # Statements

    @cached_property
    def _select_by_reference(self) -> Any:
        return select(self._table).where(is_of(self._table, "reference"))

    @cached_property
    def _select_by_checkout(self) -> Any:
        return select(self._table).where(is_of(self._table, "refund_of")).order_by(self._table.c.id)

    @cached_property
    def _select_by_order(self) -> Any:
        return select(self._table).where(is_of(self._table, "order_id")).order_by(self._table.c.id)

    @cached_property
    def _select_refund_states(self) -> Any:
        c, of = self._table.c, self._models.checkouts.c
        columns = (of.checkout_id, of.paid_order_id, of.payback, c.status, c.currency, c.amount)
        live = (c.kind == PayoutKind.REFUND.value, c.status != PayoutStatus.CANCELLED.value)
        together = self._table.join(self._models.checkouts, of.checkout_id == c.refund_of)
        found = select(*columns, func.count()).select_from(together).where(is_of(self._table, "order_id"), *live)
        return found.group_by(*columns)
