"""The endpoint `GET /v1/disbursement/fiat/{disbursementId}/report`."""

from __future__ import annotations

from flask import Blueprint, Response

from flask_paycheckout.sandbox.auth.access import check_access
from flask_paycheckout.sandbox.disbursements.fiat import find_fiat
from flask_paycheckout.sandbox.disbursements.tables import COMPLETED
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.wire.envelope import Refusal, unspecified_refusal
from flask_paycheckout.sandbox.wire.operations import check_undeclared, operation
from flask_paycheckout.sandbox.world.database import transaction

transfer_proofs = Blueprint("transfer_proofs", __name__)

_PDF = "application/pdf"


@transfer_proofs.get("/v1/disbursement/fiat/<disbursement_id>/report")
@operation(media_type=_PDF)
def read_transfer_proof(disbursement_id: str) -> Response:
    """The transfer proof of a completed fiat disbursement."""
    with transaction() as session:
        account = check_access(session)
        check_undeclared()
        settle_due(session)
    return proof_of(account.user_id, disbursement_id)


def proof_of(user_id: str, disbursement_id: str) -> Response:
    """The transfer proof of an account's disbursement. :raises Refusal: there is none, or none yet."""
    with transaction() as session:
        found = find_fiat(session, user_id, disbursement_id)
    if found is None:
        raise Refusal(404, "Disbursement not found")
    if found.status != COMPLETED:
        raise unspecified_refusal("report_of_unfinished", "There is a transfer proof once the status is completed.")
    # Imported here because the PDF library takes longer to load than the rest of the sandbox.
    from flask_paycheckout.sandbox.transfer_proofs.document import transfer_proof

    file_name = f"disbursement-{found.disbursement_id}.pdf"
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return Response(transfer_proof(found), headers=headers, content_type=_PDF)
