"""Checking, storing and estimating crypto disbursements."""

from __future__ import annotations

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.crypto_disbursements.addresses import fault_of, sending_wallet
from flask_paycheckout.sandbox.crypto_disbursements.fees import fees_of
from flask_paycheckout.sandbox.crypto_disbursements.schemas import (
    CryptoBatch,
    FeeEstimate,
    NewCryptoDisbursements,
    Receiver,
    WantedEstimate,
    represent_crypto,
)
from flask_paycheckout.sandbox.crypto_disbursements.tables import WalletTransfer
from flask_paycheckout.sandbox.disbursements.batches import BatchItem, check_size, store_batch
from flask_paycheckout.sandbox.disbursements.fees import fee_of, in_units, total
from flask_paycheckout.sandbox.disbursements.tables import CRYPTO, Disbursement
from flask_paycheckout.sandbox.money.tokens import Token, find_token
from flask_paycheckout.sandbox.wire.envelope import Refusal
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.context import assumption

_FIELD = "receivers"


def disburse(session: Session, user_id: str, wanted: NewCryptoDisbursements) -> CryptoBatch:
    """Store a batch, all of it or nothing."""
    check_size(_FIELD, wanted.receivers)
    token = find_token(wanted.token)
    if token is None:
        # The interface shows this combination: the statusCode of a bad request with the name of another error.
        raise Refusal(400, "Payment method not found", "Not Found")
    orders = [_order(token, f"{_FIELD}[{place}]", receiver) for place, receiver in enumerate(wanted.receivers)]
    made = store_batch(session, CRYPTO, user_id, _FIELD, orders, grouped=True)
    session.add_all(
        _transfer(token, disbursement, receiver) for disbursement, receiver in zip(made, wanted.receivers, strict=True)
    )
    session.flush()
    return CryptoBatch(
        total_receiver=len(made),
        disburse_data=represent_crypto(session, made),
        sum_fees=total(disbursement.fee_amount for disbursement in made),
        sum_amount=total(disbursement.amount for disbursement in made),
    )


def _order(token: Token, field: str, receiver: Receiver) -> BatchItem:
    fault = fault_of(receiver.receiver_wallet_address, token.blockchain_type)
    if fault is not None:
        raise FieldError(f"{field}.receiverWalletAddress {fault}.")
    amount = in_units(f"{field}.amount", receiver.amount, token.id)
    return BatchItem(token.id, amount, fees_of(token), receiver.reference, receiver.note)


def _transfer(token: Token, disbursement: Disbursement, receiver: Receiver) -> WalletTransfer:
    terms = fees_of(token)
    return WalletTransfer(
        disbursement_id=disbursement.id,
        sender_address=sending_wallet(disbursement.user_id, token.blockchain_type),
        receiver_address=receiver.receiver_wallet_address,
        fee_flat=terms.flat,
        fee_network=terms.network,
    )


def estimate(wanted: WantedEstimate) -> FeeEstimate:
    """Estimate the fee of sending an amount to one receiver, by the formula that a disbursement is charged by."""
    token = find_token(wanted.token)
    if token is None:
        raise FieldError("token is no token id; GET /v1/reference/cryptos lists them.")
    if assumption("estimate_amount") == "integer" and wanted.amount != wanted.amount.to_integral_value():
        raise FieldError("amount must be a whole number of tokens.")
    amount = in_units("amount", wanted.amount, token.id)
    return FeeEstimate(token.id, amount, fee_of(fees_of(token), amount, token.id))
