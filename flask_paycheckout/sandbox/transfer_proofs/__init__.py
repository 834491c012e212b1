"""The endpoint `GET /v1/disbursement/fiat/{disbursementId}/report`."""

from __future__ import annotations

from flask import Blueprint, Response
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.disbursements.fiat import find_fiat
from flask_paycheckout.sandbox.disbursements.fiat_schemas import FiatDisbursement
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.wire.envelope import Refusal, unspecified_refusal
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.transitions import COMPLETED

transfer_proofs = Blueprint("transfer_proofs", __name__)

_PDF = "application/pdf"


@transfer_proofs.get("/v1/disbursement/fiat/<disbursement_id>/report")
@operation(media_type=_PDF)
def read_transfer_proof(session: Session, account: Account, disbursement_id: str) -> Response:
    """The transfer proof of a completed fiat disbursement."""
    disbursement = find_fiat(session, disbursement_id, Disbursement.user_id == account.user_id)
    if disbursement is None:
        raise Refusal(404, "Disbursement not found")
    if disbursement.status != COMPLETED:
        raise unspecified_refusal("report_of_unfinished", "There is a transfer proof once the status is completed.")
    return proof_of(disbursement)


def proof_of(disbursement: FiatDisbursement) -> Response:
    """The transfer proof of a completed disbursement."""
    # Imported here because the PDF library takes longer to load than the rest of the sandbox.
    from flask_paycheckout.sandbox.transfer_proofs.document import transfer_proof

    file_name = f"disbursement-{disbursement.disbursement_id}.pdf"
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return Response(transfer_proof(disbursement), headers=headers, content_type=_PDF)
