"""Status changes of deposits, disbursements and payments, on request or when due, and the history of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, inspect, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.context import current_time
from flask_paycheckout.sandbox.world.database import AccountId, Model, Serial, Table

PENDING, COMPLETED, FAILED = "pending", "completed", "failed"
"""The statuses that deposits, disbursements and payments have in common."""


class Activity(Table):
    """One event of the feed: a move of a deposit, a disbursement or a payment, a webhook about one, or a call."""

    __tablename__ = "activity"

    number: Mapped[Serial]
    kind: Mapped[str]
    """The table of what changed, `webhook` or `call`."""
    about: Mapped[str | None] = mapped_column(index=True)
    """The id of the deposit, disbursement or payment; None for a call."""
    user_id: Mapped[AccountId | None]
    request: Mapped[int | None] = mapped_column(index=True)
    account: Mapped[str | None]
    """The number and the account's name of a call in the request log, which outlive the account."""
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
    histories: defaultdict[str, list[Activity]] = defaultdict(list)
    moves = select(Activity).where(Activity.about.in_(list(ids)), Activity.kind != "webhook")
    for entry in session.scalars(moves.order_by(Activity.number)):
        histories[str(entry.about)].append(entry)
    return histories


class NotPossible(Exception):
    """The state of a checkout, a deposit or a disbursement does not allow what was asked."""

    def __init__(self, fault: str, what: str = "checkout") -> None:
        super().__init__(fault)
        self.what = what


def force_status(session: Session, row: Any, status: str, allowed: Callable[[str], bool]) -> None:
    """Set the status that a merchant requests, which only a sandbox allows.

    :param row: of a table with the columns `status` and `updated_at`; it is locked and read again.
    :param allowed: whether a row of this status can be forced.
    :raises NotPossible: its status does not allow it.
    """
    session.refresh(row, with_for_update=True)
    if not allowed(row.status):
        raise NotPossible(f"the {row.__tablename__} is {row.status} already", row.__tablename__)
    row.status, row.updated_at = status, current_time()


def move_due(session: Session, model: type[Model], source: str, target: str, due: ColumnElement[bool]) -> list[Model]:
    """Move the due rows with one status to another; returns them, oldest first."""
    table: Any = model
    waiting = select(table).where(table.status == source, due).order_by(table.created_at, *inspect(table).primary_key)
    moved = list(session.scalars(waiting.with_for_update(), execution_options={"populate_existing": True}))
    for row in moved:
        row.status, row.updated_at = target, current_time()
    return moved
