"""Fiat disbursements: payment methods, both versions of creating, the list, one record, and its transfer proof."""

from __future__ import annotations

from flask import Blueprint, Response

from flask_paycheckout.sandbox.access import check_access
from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.disbursements.moves import settle_due
from flask_paycheckout.sandbox.disbursements.tables import COMPLETED
from flask_paycheckout.sandbox.envelope import Answer, Refusal, success, unworded
from flask_paycheckout.sandbox.fiat_disbursements.batches import disburse_v1, disburse_v2
from flask_paycheckout.sandbox.fiat_disbursements.listing import find_fiat, list_fiat
from flask_paycheckout.sandbox.fiat_disbursements.methods import check_currency, methods_of
from flask_paycheckout.sandbox.fiat_disbursements.representation import (
    FiatBatchV1,
    FiatBatchV2,
    FiatDisbursement,
    FiatPaymentMethod,
    represent_method,
)
from flask_paycheckout.sandbox.fiat_disbursements.requests import (
    FiatListQuery,
    FiatMethodQuery,
    NewFiatDisbursementsV1,
    NewFiatDisbursementsV2,
)
from flask_paycheckout.sandbox.operations import Guard, operation, read_body, read_query
from flask_paycheckout.sandbox.records import Page
from flask_paycheckout.sandbox.world import unknown

fiat_disbursements = Blueprint("fiat_disbursements", __name__)

_CREATED = "Disbursement created successfully"
_PDF = "application/pdf"


@fiat_disbursements.get("/v1/disbursement/fiat/payment-method")
@operation(query=FiatMethodQuery, guard=Guard.ACCESS_TOKEN)
def list_fiat_methods() -> Answer[list[FiatPaymentMethod]]:
    """The banks that can be paid, with limits and fees."""
    with transaction() as session:
        check_access(session)
    currency = read_query(FiatMethodQuery).currency
    if currency is not None:
        check_currency(currency)
    return success([represent_method(method) for method in methods_of(currency)])


@fiat_disbursements.post("/v1/disbursement/fiat")
@operation(takes=NewFiatDisbursementsV1, guard=Guard.ACCESS_TOKEN, codes=(200, 201), deprecated=True)
def create_fiat_v1() -> Answer[FiatBatchV1]:
    """Pay saved recipients, all of them or none (deprecated: the second version replaces it)."""
    with transaction() as session:
        account = check_access(session)
        batch = disburse_v1(session, account.user_id, read_body(NewFiatDisbursementsV1))
    return success(batch, _CREATED, int(unknown("disbursement_status_code")))


@fiat_disbursements.post("/v2/disbursement/fiat")
@operation(takes=NewFiatDisbursementsV2, guard=Guard.ACCESS_TOKEN, codes=(200, 201))
def create_fiat_v2() -> Answer[FiatBatchV2]:
    """Pay saved or given recipients in one currency, all of them or none."""
    with transaction() as session:
        account = check_access(session)
        batch = disburse_v2(session, account.user_id, read_body(NewFiatDisbursementsV2))
    return success(batch, _CREATED, int(unknown("disbursement_status_code")))


@fiat_disbursements.get("/v1/disbursement/fiat")
@operation(query=FiatListQuery, guard=Guard.SIGNATURE)
def list_fiat_disbursements() -> Answer[Page[FiatDisbursement] | list[FiatDisbursement]]:
    """The account's fiat disbursements."""
    with transaction() as session:
        account = check_access(session)
        query = read_query(FiatListQuery)
        if query.currency is not None:
            check_currency(query.currency)
        settle_due(session)
        return success(list_fiat(session, account.user_id, query))


@fiat_disbursements.get("/v1/disbursement/fiat/<disbursement_id>")
@operation(guard=Guard.SIGNATURE)
def read_fiat_disbursement(disbursement_id: str) -> Answer[FiatDisbursement]:
    """One fiat disbursement with its history."""
    with transaction() as session:
        account = check_access(session)
        settle_due(session)
        found = find_fiat(session, account.user_id, disbursement_id)
    if found is None:
        raise unworded(404, "Disbursement not found")
    return success(found)


@fiat_disbursements.get("/v1/disbursement/fiat/<disbursement_id>/report")
@operation(guard=Guard.SIGNATURE, media_type=_PDF)
def read_transfer_proof(disbursement_id: str) -> Response:
    """The transfer proof of a completed fiat disbursement."""
    with transaction() as session:
        account = check_access(session)
        settle_due(session)
        found = find_fiat(session, account.user_id, disbursement_id)
    if found is None:
        raise Refusal(404, "Disbursement not found")
    if found.status != COMPLETED:
        raise unworded(int(unknown("report_of_unfinished")), "There is a transfer proof once the status is completed.")
    # Imported here because the PDF library takes longer to load than the rest of the sandbox.
    from flask_paycheckout.sandbox.transfer_proofs.document import transfer_proof

    file_name = f"disbursement-{found.disbursement_id}.pdf"
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return Response(transfer_proof(found), headers=headers, content_type=_PDF)
