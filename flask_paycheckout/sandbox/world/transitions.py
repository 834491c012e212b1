"""Status changes that deposits, disbursements and payments share: forced ones, and those that are due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import Model, rows_changed, transaction

BATCH = 500
"""How many rows one transaction moves at most; many more may be due while other requests wait for the database."""


class NotPossible(Exception):
    """The state of a checkout, a deposit or a disbursement does not allow what was asked."""


def force_status(session: Session, row: Any, status: str, allowed: ColumnElement[bool], name: str) -> None:
    """Set the status that a merchant requests, which only a sandbox allows.

    :param row: of a table with the columns `id`, `status` and `updated_at`; it is read again afterwards.
    :param allowed: the condition on which the table's rows can be forced.
    :param name: what a refusal calls the row: `the deposit`.
    :raises NotPossible: the condition does not hold.
    """
    table = type(row)
    changed = update(table).where(table.id == row.id, allowed).values(status=status, updated_at=world().clock.now())
    if not rows_changed(session, changed):
        raise NotPossible(f"{name} is {row.status} already")
    session.refresh(row)


def move_due(session: Session, model: type[Model], source: str, target: str, age: timedelta) -> list[Model]:
    """Give the oldest rows of a status another one, once so much time has passed since their creation."""
    table: Any = model
    now = world().clock.now()
    due = (
        select(table.number)
        .where(table.status == source, table.created_at <= now - age)
        .order_by(table.created_at, table.number)
        .limit(BATCH)
    )
    moved = session.scalars(
        update(table)
        # Checked again here because another process may have moved some of these rows since they were selected.
        .where(table.number.in_(due.scalar_subquery()), table.status == source)
        .values(status=target, updated_at=now)
        .returning(table)
        .execution_options(synchronize_session=False, populate_existing=True)
    )
    return list(moved)


def move_all(move: Callable[[Session], int]) -> None:
    """Repeat a move, each time in a transaction of its own, until it moves less than a batch."""
    moved = BATCH
    while moved == BATCH:
        with transaction() as session:
            moved = move(session)
