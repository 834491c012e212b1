"""The endpoint `PATCH /v1/disbursement/{disbursementId}`, for both kinds."""

from __future__ import annotations

from flask import Blueprint
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import check_access
from flask_paycheckout.sandbox.disbursements.schemas import DisbursementUpdate
from flask_paycheckout.sandbox.disbursements.transitions import force_disbursement, may_be_forced_to
from flask_paycheckout.sandbox.outgoing.webhooks import send_due
from flask_paycheckout.sandbox.wire.envelope import Envelope, Refusal, empty_success, unspecified_refusal
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.wire.request_log import in_one_transaction
from flask_paycheckout.sandbox.world.transitions import NotPossible

disbursements = Blueprint("disbursements", __name__)


@disbursements.patch("/v1/disbursement/<disbursement_id>")
@operation(body=DisbursementUpdate, credentials=Credentials.ACCESS_TOKEN)
def update_disbursement(disbursement_id: str) -> Envelope[None]:
    """Force a status, which only a sandbox allows."""
    answer = _update(disbursement_id)
    send_due()
    return answer


@in_one_transaction
def _update(session: Session, disbursement_id: str) -> Envelope[None]:
    account = check_access(session)
    status = read_body(DisbursementUpdate).status
    if not may_be_forced_to(status):
        raise FieldError("status is none that a disbursement can be forced to; completed always is.")
    try:
        found = force_disbursement(session, account.user_id, disbursement_id, status)
    except NotPossible as refused:
        raise unspecified_refusal(400, f"{refused}.") from None
    if not found:
        raise Refusal(400, "Disbursement not found")
    return empty_success("Disbursement updated successfully")
