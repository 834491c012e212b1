"""The number of times that a refund's link was used to say where the money goes, which is limited."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, Table, update

from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PAYOUT_TRANSITIONS, PayoutEvidence, PayoutKind

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["MAX_CLAIMS", "ClaimCounts"]

MAX_CLAIMS = 20
"""The most times that the link of a refund can be used to say where the money goes."""

_CLAIMABLE = [status.value for status, evidence in PAYOUT_TRANSITIONS if evidence is PayoutEvidence.CLAIMED]


class ClaimCounts:
    """Counts the claims of refunds: before each one is made, in a statement of its own that keeps the limit."""

    def __init__(self, engine: Callable[[], Engine], models: Models) -> None:
        self._engine = engine
        self._models = models
        self._table: Table = models.payouts

    def take(self, reference: str) -> PayoutMixin | None:
        """Count one more claim of a refund; None when its state or the limit does not allow it.

        :returns: the refund, detached from any session.
        """
        with begin_limited(self._engine()) as connection:
            row = connection.execute(self._take, {"of_reference": reference}).mappings().one_or_none()
        return None if row is None else self._models.payout_of_row(row)

    def give_back(self, reference: str) -> None:
        """Count one claim less, since the service was certainly not reached with it."""
        with begin_limited(self._engine()) as connection:
            connection.execute(self._give_back, {"of_reference": reference})

    # Statements

    @cached_property
    def _take(self) -> Any:
        c = self._table.c
        allowed = (c.kind == PayoutKind.REFUND.value, c.status.in_(_CLAIMABLE), c.claims < MAX_CLAIMS)
        counted = update(self._table).where(is_of(self._table, "reference"), *allowed)
        return counted.values(claims=c.claims + 1, changes=c.changes + 1).returning(*c)

    @cached_property
    def _give_back(self) -> Any:
        c = self._table.c
        given_back = update(self._table).where(is_of(self._table, "reference"), c.claims > 0)
        return given_back.values(claims=c.claims - 1, changes=c.changes + 1)
