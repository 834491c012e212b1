"""The endpoints `POST /v1/disbursement/crypto` and `GET /v1/disbursement/crypto/estimate`."""

from __future__ import annotations

from decimal import Decimal

from flask import Blueprint
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import for_account
from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.disbursements.addresses import check_address, sending_wallet
from flask_paycheckout.sandbox.disbursements.batches import BatchItem, FeeTerms, check_size, fee_of, store_batch, total
from flask_paycheckout.sandbox.disbursements.crypto_schemas import (
    CryptoBatch,
    FeeEstimate,
    NewCryptoDisbursements,
    Receiver,
    WantedEstimate,
    represent_crypto,
)
from flask_paycheckout.sandbox.disbursements.tables import CRYPTO, WalletTransfer
from flask_paycheckout.sandbox.wire.envelope import Envelope, FieldError, Refusal, success
from flask_paycheckout.sandbox.wire.field_types import UnknownCode, in_units
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body, read_query
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.money import TOKENS_BY_ID, Token

_PERCENTAGE = Decimal("0.2")

_FIELD = "receivers"

crypto_disbursements = Blueprint("crypto_disbursements", __name__)


def fees_of(token: Token) -> FeeTerms:
    return FeeTerms(token.fee_flat, _PERCENTAGE, token.fee_network)


@crypto_disbursements.post("/v1/disbursement/crypto")
@operation(body=NewCryptoDisbursements, credentials=Credentials.ACCESS_TOKEN, codes=(200, 201))
@for_account
def create_crypto_disbursements(session: Session, account: Account) -> Envelope[CryptoBatch]:
    """Send a token to wallets, all of them or none."""
    wanted = read_body(NewCryptoDisbursements)
    check_size(_FIELD, wanted.receivers)
    token = TOKENS_BY_ID.get(wanted.token)
    if token is None:
        # The interface shows this combination: the statusCode of a bad request with the name of another error.
        raise Refusal(400, "Payment method not found", "Not Found")
    items = [
        _item(account.user_id, token, f"{_FIELD}[{place}]", receiver) for place, receiver in enumerate(wanted.receivers)
    ]
    made = store_batch(session, CRYPTO, account.user_id, _FIELD, items)
    batch = CryptoBatch(
        total_receiver=len(made),
        disburse_data=represent_crypto(session, made),
        sum_fees=total(disbursement.fee_amount for disbursement in made),
        sum_amount=total(disbursement.amount for disbursement in made),
    )
    return success(batch, "Disbursement created successfully", "disbursement_status_code")


def _item(user_id: str, token: Token, field: str, receiver: Receiver) -> BatchItem:
    check_address(f"{field}.receiverWalletAddress", receiver.receiver_wallet_address, token.blockchain_type)
    amount, terms = in_units(f"{field}.amount", receiver.amount, token.id), fees_of(token)
    transfer = WalletTransfer(
        sender_address=sending_wallet(user_id, token.blockchain_type),
        receiver_address=receiver.receiver_wallet_address,
        fee_flat=terms.flat,
        fee_network=terms.network,
    )
    return BatchItem(token.id, amount, terms, receiver.reference, receiver.note, transfer)


@crypto_disbursements.get("/v1/disbursement/crypto/estimate")
@operation(query=WantedEstimate)
@for_account
def estimate_crypto_fee(session: Session, account: Account) -> Envelope[FeeEstimate]:
    """Estimate the fee for sending an amount of a token to one wallet, by the formula that disbursements use."""
    wanted = read_query(WantedEstimate)
    token = TOKENS_BY_ID.get(wanted.token)
    if token is None:
        raise UnknownCode("token")
    if assumption("estimate_amount") == "integer" and wanted.amount != wanted.amount.to_integral_value():
        raise FieldError("amount must be a whole number of tokens.")
    amount = in_units("amount", wanted.amount, token.id)
    return success(FeeEstimate(token.id, amount, fee_of(fees_of(token), amount, token.id)))
