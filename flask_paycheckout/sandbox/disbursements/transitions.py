"""Transitions of disbursements of both kinds, by time and by `PATCH /v1/disbursement/{disbursementId}`.

Each locks its row before it looks at the state, and has its history entry in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from flask import Blueprint
from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.disbursements.crypto import represent_crypto
from flask_paycheckout.sandbox.disbursements.fiat_schemas import FiatDisbursement, represent_fiat
from flask_paycheckout.sandbox.disbursements.tables import (
    CRYPTO,
    FIAT,
    STATUSES,
    Disbursement,
)
from flask_paycheckout.sandbox.outgoing.webhooks import enqueue, send_due
from flask_paycheckout.sandbox.wire.envelope import Refusal, instead, to_wire
from flask_paycheckout.sandbox.wire.field_types import Request, checked
from flask_paycheckout.sandbox.wire.operations import Credentials
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.transitions import COMPLETED, FAILED, PENDING, force_status, move_due, note

TRANSFER_TIME = timedelta(minutes=10)
"""How long a disbursement is pending before it changes by itself, if the unknown `disbursement_progress` says so."""

_ALLOWED = {"known": STATUSES, "completed": (COMPLETED,)}
_LATER = {FIAT: "Sent to recipient account", CRYPTO: "Received by recipient"}
_DESCRIPTIONS = {COMPLETED: "The money has arrived.", FAILED: "The transfer failed."}


disbursements = Blueprint("disbursements", __name__)
_ANY = instead("forced_disbursement_status", "any", type="string", minLength=1, maxLength=40)


def _may_be_forced(status: str) -> bool:
    rule = assumption("forced_disbursement_status")
    return 0 < len(status) <= 40 if rule == "any" else status in _ALLOWED[rule]


class DisbursementUpdate(Request):
    """The body of a sandbox update, which forces a status."""

    status: Annotated[str, checked("a status that can be forced here", _may_be_forced, enum=[*STATUSES], **_ANY)]


@disbursements.patch("/v1/disbursement/<disbursement_id>")
@operation(credentials=Credentials.ACCESS_TOKEN, after=send_due, message="Disbursement updated successfully")
def update_disbursement(session: Session, account: Account, disbursement_id: str, sent: DisbursementUpdate) -> None:
    """Force a status, which only a sandbox allows."""
    query = select(Disbursement).where(Disbursement.id == disbursement_id, Disbursement.user_id == account.user_id)
    disbursement = session.scalar(query)
    if disbursement is None:
        raise Refusal(400, "Disbursement not found")
    is_accepted = assumption("forced_update_of_settled") == "accepted"
    _move(session, disbursement, sent.status, lambda status: is_accepted or status == PENDING)
    _enqueue_webhook(session, disbursement)


def finish_disbursement(session: Session, disbursement: Disbursement, status: str) -> None:
    """Let the bank complete a pending disbursement or refuse it.

    :raises NotPossible: it is not pending any more.
    """
    _move(session, disbursement, status, lambda before: before == PENDING)
    _report_progress(session, disbursement)


def _report_progress(session: Session, disbursement: Disbursement) -> None:
    """Queue the webhook of a move by the bank, if the unknown `disbursement_progress_webhook` says so."""
    if assumption("disbursement_progress_webhook") == "sent":
        _enqueue_webhook(session, disbursement)


def _move(session: Session, disbursement: Disbursement, status: str, allowed: Callable[[str], bool]) -> None:
    force_status(session, disbursement, status, allowed)
    _note(session, disbursement)


def _note(session: Session, disbursement: Disbursement) -> None:
    description = _DESCRIPTIONS.get(disbursement.status, f"The status became {disbursement.status}.")
    note(session, disbursement, _LATER[disbursement.kind], description)


def settle_due(session: Session) -> None:
    """Give disbursements that were pending long enough the status that `disbursement_progress` names."""
    status, due = assumption("disbursement_progress"), Disbursement.created_at <= current_time() - TRANSFER_TIME
    for disbursement in [] if status == "forced" else move_due(session, Disbursement, PENDING, status, due):
        _note(session, disbursement)
        _report_progress(session, disbursement)


def _enqueue_webhook(session: Session, disbursement: Disbursement) -> None:
    """Queue the disbursement webhook in the current transaction; it is sent after the commit."""
    payload: dict[str, Any] = {"disbursementId": disbursement.id, "status": disbursement.status}
    if assumption("disbursement_webhook") == "full":
        is_fiat = disbursement.kind == FIAT
        [record] = (
            represent_fiat(session, [disbursement], FiatDisbursement)
            if is_fiat
            else represent_crypto(session, [disbursement])
        )
        payload = {"event": "disbursement"} | to_wire(record)
    enqueue(session, disbursement.user_id, disbursement.id, payload)
