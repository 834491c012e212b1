"""Status changes that deposits, disbursements and payments share, forced ones and those that are due; their history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, inspect, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.context import current_time
from flask_paycheckout.sandbox.world.database import AccountId, Model, Serial, Table

PENDING, COMPLETED, FAILED = "pending", "completed", "failed"
"""The statuses that deposits, disbursements and payments have in common."""


class Activity(Table):
    """One entry in the history of a deposit, a disbursement or a payment, or a webhook about one that was not sent."""

    __tablename__ = "activity"

    number: Mapped[Serial]
    kind: Mapped[str]
    """The table of what changed; the id of the deposit, disbursement or payment follows."""
    about: Mapped[str] = mapped_column(index=True)
    user_id: Mapped[AccountId]
    activity: Mapped[str]
    description: Mapped[str]
    status: Mapped[str]
    updated_at: Mapped[datetime]


def note(session: Session, row: Any, activity: str, description: str, status: str | None = None) -> None:
    """Add an entry to the history of a row, at the time of the row's last change and with its status, or another."""
    session.add(
        Activity(
            kind=row.__tablename__,
            about=row.id,
            user_id=row.user_id,
            activity=activity,
            description=description,
            status=status or row.status,
            updated_at=row.updated_at,
        )
    )


def histories_of(session: Session, ids: Iterable[str]) -> dict[str, list[Activity]]:
    """The entries of several rows, by id, oldest first; one query."""
    found = defaultdict(list)
    moves = select(Activity).where(Activity.about.in_(list(ids)), Activity.kind != "webhook")
    for entry in session.scalars(moves.order_by(Activity.number)):
        found[entry.about].append(entry)
    return found


class NotPossible(Exception):
    """The state of a checkout, a deposit or a disbursement does not allow what was asked."""


def force_status(session: Session, row: Any, status: str, allowed: Callable[[str], bool]) -> None:
    """Set the status that a merchant requests, which only a sandbox allows.

    :param row: of a table with the columns `status` and `updated_at`; it is locked and read again.
    :param allowed: whether a row of this status can be forced.
    :raises NotPossible: it cannot.
    """
    session.refresh(row, with_for_update=True)
    if not allowed(row.status):
        raise NotPossible(f"the {row.__tablename__} is {row.status} already")
    row.status, row.updated_at = status, current_time()


def move_due(session: Session, model: type[Model], source: str, target: str, due: ColumnElement[bool]) -> list[Model]:
    """Give the rows of a status another one if they are due; returns them, oldest first."""
    table: Any = model
    moving = update(table).where(table.status == source, due).values(status=target, updated_at=current_time())
    moved = session.scalars(
        moving.returning(table), execution_options={"synchronize_session": False, "populate_existing": True}
    )
    return sorted(moved, key=lambda row: (row.created_at, inspect(row).identity))
