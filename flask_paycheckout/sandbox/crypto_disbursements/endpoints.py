"""The endpoints `POST /v1/disbursement/crypto` and `GET /v1/disbursement/crypto/estimate`."""

from __future__ import annotations

from flask import Blueprint
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import check_access
from flask_paycheckout.sandbox.crypto_disbursements.rules import disburse, estimate
from flask_paycheckout.sandbox.crypto_disbursements.schemas import (
    CryptoBatch,
    FeeEstimate,
    NewCryptoDisbursements,
    WantedEstimate,
)
from flask_paycheckout.sandbox.wire.envelope import Envelope, success
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body, read_query
from flask_paycheckout.sandbox.wire.request_log import in_one_transaction
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import transaction

crypto_disbursements = Blueprint("crypto_disbursements", __name__)


@crypto_disbursements.post("/v1/disbursement/crypto")
@operation(body=NewCryptoDisbursements, credentials=Credentials.ACCESS_TOKEN, codes=(200, 201))
@in_one_transaction
def create_crypto_disbursements(session: Session) -> Envelope[CryptoBatch]:
    """Send a token to wallets, all of them or none."""
    account = check_access(session)
    batch = disburse(session, account.user_id, read_body(NewCryptoDisbursements))
    return success(batch, "Disbursement created successfully", int(assumption("disbursement_status_code")))


@crypto_disbursements.get("/v1/disbursement/crypto/estimate")
@operation(query=WantedEstimate, credentials=Credentials.SIGNATURE)
def estimate_crypto_fee() -> Envelope[FeeEstimate]:
    """Estimate the fee for sending an amount of a token to one wallet."""
    with transaction() as session:
        check_access(session)
    return success(estimate(read_query(WantedEstimate)))
