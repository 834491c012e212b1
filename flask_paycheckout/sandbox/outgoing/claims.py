"""Claims on messages that wait to be sent, so that of several processes only one sends each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import Model, rows_changed

# Enough for one of them to be still unclaimed when other processes claim at the same time.
_CANDIDATES = 50


def claim_next(
    session: Session,
    model: type[Model],
    key: InstrumentedAttribute[Any],
    due: Sequence[ColumnElement[bool]],
    order: Sequence[InstrumentedAttribute[Any]],
    lease: timedelta,
    **values: Any,
) -> Model | None:
    """Claim the first message that is due and that nobody else has claimed; None when there is none.

    The message is loaded as claimed: its `claimed_until` tells this claim from a later one.

    A claim ends by the machine's clock, not by the virtual one: advancing the virtual clock must not let a second
    process send a message that the first is still sending.

    :param model: a table with the column `claimed_until`.
    :param key: its primary key.
    :param lease: how long the claim keeps other processes away.
    :param values: what else is set on the claimed row.
    """
    free = _unclaimed(model)
    until = world().clock.machine() + lease
    for row in session.scalars(select(model).where(*due, free).order_by(*order).limit(_CANDIDATES)):
        claim = update(model).where(key == getattr(row, key.key), *due, free).values(claimed_until=until, **values)
        if rows_changed(session, claim):
            session.refresh(row)
            return row
    return None


def _unclaimed(model: type[Model]) -> ColumnElement[bool]:
    """The condition that no process has claimed a message, or that its claim has ended."""
    table: Any = model
    return or_(table.claimed_until.is_(None), table.claimed_until <= world().clock.machine())
