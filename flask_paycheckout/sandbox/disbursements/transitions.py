"""How disbursements move on: each move is one conditional UPDATE with its record beside it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, select, true, update
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.history import record_transition
from flask_paycheckout.sandbox.disbursements.schemas import represent
from flask_paycheckout.sandbox.disbursements.tables import COMPLETED, PENDING, STATUSES, Disbursement
from flask_paycheckout.sandbox.outgoing.webhooks import enqueue
from flask_paycheckout.sandbox.wire.schemas import to_wire
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import rows_changed, transaction

#: How long one is pending before it moves by itself, where the unknown `disbursement_progress` lets it.
TRANSFER_TIME = timedelta(minutes=10)
# What one transaction moves at most; many more may be due, and others want the database too.
_MAX_AT_ONCE = 500

_ALLOWED = {"known": STATUSES, "completed": (COMPLETED,)}


class NotPossible(Exception):
    """The disbursement is in a state that does not allow this."""


def find_disbursement(session: Session, user_id: str, disbursement_id: str) -> Disbursement | None:
    return session.scalars(
        select(Disbursement).where(Disbursement.id == disbursement_id, Disbursement.user_id == user_id)
    ).one_or_none()


def may_be_forced_to(status: str) -> bool:
    rule = assumption("forced_disbursement_status")
    return rule == "any" or status in _ALLOWED[rule]


def force_status(session: Session, user_id: str, disbursement_id: str, status: str) -> bool:
    """What only a sandbox does: the disbursement takes the status sent, and the webhook goes out. False: no such one.

    :raises NotPossible: it is not pending any more, where that is not allowed.
    """
    made = find_disbursement(session, user_id, disbursement_id)
    if made is None:
        return False
    now = world().clock.now()
    changed = rows_changed(
        session,
        update(Disbursement).where(Disbursement.id == made.id, _is_forcible()).values(status=status, updated_at=now),
    )
    if not changed:
        raise NotPossible(f"The disbursement is {made.status} already")
    record_transition(session, made.id, made.kind, status, now)
    _tell(session, made)
    return True


def _is_forcible() -> ColumnElement[bool]:
    return true() if assumption("forced_update_of_settled") == "accepted" else Disbursement.status == PENDING


def settle_due(session: Session) -> int:
    """Disbursements that were pending long enough become what the unknown says; how many did, a few hundred at most."""
    status, now = assumption("disbursement_progress"), world().clock.now()
    if status == "forced":
        return 0
    moved = _move_due(session, status, now)
    for made in moved:
        record_transition(session, made.id, made.kind, status, now)
        if assumption("disbursement_progress_webhook") == "sent":
            _tell(session, made)
    return len(moved)


def settle_all_due() -> None:
    """The same for all of them, in transactions of that size. Not within a transaction."""
    moved = _MAX_AT_ONCE
    while moved == _MAX_AT_ONCE:
        with transaction() as session:
            moved = settle_due(session)


def _move_due(session: Session, status: str, now: datetime) -> list[Disbursement]:
    due = (
        select(Disbursement.number)
        .where(Disbursement.status == PENDING, Disbursement.created_at <= now - TRANSFER_TIME)
        .order_by(Disbursement.created_at, Disbursement.number)
        .limit(_MAX_AT_ONCE)
    )
    moved = session.scalars(
        update(Disbursement)
        # Asked again beside the list: another process may have moved some of it meanwhile.
        .where(Disbursement.number.in_(due.scalar_subquery()), Disbursement.status == PENDING)
        .values(status=status, updated_at=now)
        .returning(Disbursement)
        .execution_options(synchronize_session=False, populate_existing=True)
    )
    return list(moved)


def _tell(session: Session, made: Disbursement) -> None:
    """Queue the disbursement webhook within the same transaction; it is sent after the commit."""
    session.flush()
    session.refresh(made)
    payload: dict[str, Any] = {"disbursementId": made.id, "status": made.status}
    if assumption("disbursement_webhook") == "full":
        payload = {"event": "disbursement"} | to_wire(represent(session, made))
    enqueue(session, made.id, payload)
