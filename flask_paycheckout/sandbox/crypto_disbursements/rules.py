"""Checking, storing and estimating crypto disbursements."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.crypto_disbursements.addresses import check_address, sending_wallet
from flask_paycheckout.sandbox.crypto_disbursements.schemas import (
    CryptoBatch,
    FeeEstimate,
    NewCryptoDisbursements,
    Receiver,
    WantedEstimate,
    represent_crypto,
)
from flask_paycheckout.sandbox.crypto_disbursements.tables import WalletTransfer
from flask_paycheckout.sandbox.disbursements.batches import BatchItem, check_size, refuse_other_content, store_batch
from flask_paycheckout.sandbox.disbursements.fees import FeeTerms, fee_of, total
from flask_paycheckout.sandbox.disbursements.tables import CRYPTO, Disbursement
from flask_paycheckout.sandbox.money.tokens import Token, find_token
from flask_paycheckout.sandbox.wire.envelope import Refusal
from flask_paycheckout.sandbox.wire.field_types import UnknownCode, in_units
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.context import assumption

_PERCENTAGE = Decimal("0.2")
# Flat fee of a stablecoin.
_FLAT = Decimal("0.10")
_NETWORK = {
    "ethereum": "1.50",
    "optimism": "0.02",
    "bsc": "0.05",
    "polygon": "0.01",
    "base": "0.02",
    "arbitrum": "0.03",
    "avalanche": "0.04",
    "stellar": "0.0001",
}
# Flat and network fee of a network's own coin, by token id; about as much as the fees above.
_COINS = {
    "eth-ethereum": ("0.00003", "0.0004"),
    "eth-base": ("0.00003", "0.000006"),
    "eth-arbitrum": ("0.00003", "0.00001"),
    "pol-polygon": ("0.4", "0.04"),
    "avax-avalanche": ("0.005", "0.002"),
    "bnb-bsc": ("0.0002", "0.0001"),
    "xlm-stellar": ("0.5", "0.00001"),
}


def fees_of(token: Token) -> FeeTerms:
    if token.is_native:
        flat, network = _COINS[token.id]
        return FeeTerms(Decimal(flat), _PERCENTAGE, Decimal(network))
    return FeeTerms(_FLAT, _PERCENTAGE, Decimal(_NETWORK[token.network]))


_FIELD = "receivers"


def disburse(session: Session, user_id: str, wanted: NewCryptoDisbursements) -> CryptoBatch:
    """Store a batch, all of it or nothing."""
    check_size(_FIELD, wanted.receivers)
    token = find_token(wanted.token)
    if token is None:
        # The interface shows this combination: the statusCode of a bad request with the name of another error.
        raise Refusal(400, "Payment method not found", "Not Found")
    orders = [_order(token, f"{_FIELD}[{place}]", receiver) for place, receiver in enumerate(wanted.receivers)]
    batch = store_batch(session, CRYPTO, user_id, _FIELD, orders, grouped=True)
    made = batch.disbursements
    for place, (disbursement, receiver) in enumerate(zip(made, wanted.receivers, strict=True)):
        if disbursement.id not in batch.known:
            session.add(_transfer(token, disbursement, receiver))
        elif not _goes_to(session.get_one(WalletTransfer, disbursement.id), receiver):
            refuse_other_content(_FIELD, place)
    session.flush()
    return CryptoBatch(
        total_receiver=len(made),
        disburse_data=represent_crypto(session, made),
        sum_fees=total(disbursement.fee_amount for disbursement in made),
        sum_amount=total(disbursement.amount for disbursement in made),
    )


def _order(token: Token, field: str, receiver: Receiver) -> BatchItem:
    check_address(f"{field}.receiverWalletAddress", receiver.receiver_wallet_address, token.blockchain_type)
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


def _goes_to(transfer: WalletTransfer, receiver: Receiver) -> bool:
    addresses = transfer.receiver_address, receiver.receiver_wallet_address
    # The case of an EVM address is its checksum only; a Stellar address has one case.
    return len({address.lower() for address in addresses}) == 1


def estimate(wanted: WantedEstimate) -> FeeEstimate:
    """Estimate the fee of sending an amount to one receiver, by the formula that a disbursement is charged by."""
    token = find_token(wanted.token)
    if token is None:
        raise UnknownCode("token")
    if assumption("estimate_amount") == "integer" and wanted.amount != wanted.amount.to_integral_value():
        raise FieldError("amount must be a whole number of tokens.")
    amount = in_units("amount", wanted.amount, token.id)
    return FeeEstimate(token.id, amount, fee_of(fees_of(token), amount, token.id))
