"""Transitions of disbursements: each is one conditional UPDATE, with its history entry in the same transaction."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, select, true
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.history import record_transition
from flask_paycheckout.sandbox.disbursements.schemas import represent
from flask_paycheckout.sandbox.disbursements.tables import COMPLETED, PENDING, STATUSES, Disbursement
from flask_paycheckout.sandbox.outgoing.webhooks import enqueue
from flask_paycheckout.sandbox.wire.schemas import to_wire
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.transitions import force_status, move_due

TRANSFER_TIME = timedelta(minutes=10)
"""How long a disbursement is pending before it changes by itself, if the unknown `disbursement_progress` says so."""

_ALLOWED = {"known": STATUSES, "completed": (COMPLETED,)}


def find_disbursement(session: Session, user_id: str, disbursement_id: str) -> Disbursement | None:
    return session.scalars(
        select(Disbursement).where(Disbursement.id == disbursement_id, Disbursement.user_id == user_id)
    ).one_or_none()


def may_be_forced_to(status: str) -> bool:
    rule = assumption("forced_disbursement_status")
    return rule == "any" or status in _ALLOWED[rule]


def force_disbursement(session: Session, user_id: str, disbursement_id: str, status: str) -> bool:
    """Force a disbursement's status and queue its webhook; False when the account has no such disbursement.

    :raises NotPossible: it is not pending any more, where that is not allowed.
    """
    made = find_disbursement(session, user_id, disbursement_id)
    if made is None:
        return False
    _move(session, made, status, _is_forcible())
    _enqueue_webhook(session, made)
    return True


def finish_disbursement(session: Session, made: Disbursement, status: str) -> None:
    """Let the bank complete a pending disbursement or refuse it.

    :raises NotPossible: it is not pending any more.
    """
    _move(session, made, status, Disbursement.status == PENDING)
    _tell_progress(session, made)


def _tell_progress(session: Session, made: Disbursement) -> None:
    """Queue the webhook of a move by the bank, if the unknown `disbursement_progress_webhook` says so."""
    if assumption("disbursement_progress_webhook") == "sent":
        _enqueue_webhook(session, made)


def _move(session: Session, made: Disbursement, status: str, allowed: ColumnElement[bool]) -> None:
    force_status(session, made, status, allowed, "The disbursement")
    record_transition(session, made.id, made.kind, status, made.updated_at)


def _is_forcible() -> ColumnElement[bool]:
    return true() if assumption("forced_update_of_settled") == "accepted" else Disbursement.status == PENDING


def settle_due(session: Session) -> int:
    """Give disbursements that were pending long enough the status that `disbursement_progress` names, a batch at most.

    :return: how many.
    """
    status = assumption("disbursement_progress")
    moved = [] if status == "forced" else move_due(session, Disbursement, PENDING, status, TRANSFER_TIME)
    for made in moved:
        record_transition(session, made.id, made.kind, status, made.updated_at)
        _tell_progress(session, made)
    return len(moved)


def _enqueue_webhook(session: Session, made: Disbursement) -> None:
    """Queue the disbursement webhook in the current transaction; it is sent after the commit."""
    session.flush()
    payload: dict[str, Any] = {"disbursementId": made.id, "status": made.status}
    if assumption("disbursement_webhook") == "full":
        payload = {"event": "disbursement"} | to_wire(represent(session, made))
    enqueue(session, made.user_id, made.id, payload)
