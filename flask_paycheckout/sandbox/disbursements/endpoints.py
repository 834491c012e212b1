"""`PATCH /v1/disbursement/{disbursementId}`, for both kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flask import Blueprint

from flask_paycheckout.sandbox.access import check_access
from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.disbursements.moves import NotPossible, force_status, may_be_forced_to
from flask_paycheckout.sandbox.disbursements.tables import MOST_STATUS
from flask_paycheckout.sandbox.envelope import Answer, Refusal, done, unworded
from flask_paycheckout.sandbox.fields import FieldError
from flask_paycheckout.sandbox.kinds import Text
from flask_paycheckout.sandbox.operations import Guard, operation, read_body
from flask_paycheckout.sandbox.webhooks import deliver_due

disbursements = Blueprint("disbursements", __name__)


@dataclass(frozen=True)
class DisbursementUpdate:
    """The body of the sandbox's update."""

    status: Annotated[str, Text(MOST_STATUS)]


@disbursements.patch("/v1/disbursement/<disbursement_id>")
@operation(takes=DisbursementUpdate, guard=Guard.ACCESS_TOKEN)
def update_disbursement(disbursement_id: str) -> Answer[None]:
    """Force a status, which only a sandbox allows."""
    with transaction() as session:
        account = check_access(session)
        status = read_body(DisbursementUpdate).status
        if not may_be_forced_to(status):
            raise FieldError("status is none that a disbursement can be forced to; completed always is.")
        try:
            found = force_status(session, account.user_id, disbursement_id, status)
        except NotPossible as refused:
            raise unworded(400, f"{refused}.") from None
        if not found:
            raise Refusal(400, "Disbursement not found")
    deliver_due()
    return done("Disbursement updated successfully")
