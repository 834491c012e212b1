"""What a crypto disbursement may ask for, and what it is stored as."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.crypto_disbursements.addresses import fault_of, sending_wallet
from flask_paycheckout.sandbox.crypto_disbursements.fees import fees_of
from flask_paycheckout.sandbox.crypto_disbursements.representation import CryptoBatch, FeeEstimate, represent_crypto
from flask_paycheckout.sandbox.crypto_disbursements.tables import MOST_ADDRESS, WalletTransfer
from flask_paycheckout.sandbox.disbursements.batches import MOST_ITEMS, Order, check_size, store_batch
from flask_paycheckout.sandbox.disbursements.fees import fee_of, in_units, total
from flask_paycheckout.sandbox.disbursements.tables import CRYPTO, MOST_NOTE, MOST_REFERENCE, Disbursement
from flask_paycheckout.sandbox.envelope import Refusal
from flask_paycheckout.sandbox.fields import FieldError
from flask_paycheckout.sandbox.kinds import Amount, Parts, Prose, Text
from flask_paycheckout.sandbox.tokens import Token, find_token
from flask_paycheckout.sandbox.world import unknown

_FIELD = "receivers"


@dataclass(frozen=True)
class Receiver:
    """A wallet and what it is sent, in the request's token."""

    amount: Annotated[Decimal, Amount()]
    receiver_wallet_address: Annotated[str, Text(MOST_ADDRESS)]
    reference: Annotated[str | None, Text(MOST_REFERENCE)] = None
    note: Annotated[str | None, Prose(MOST_NOTE)] = None


@dataclass(frozen=True)
class NewCryptoDisbursements:
    """The body of `POST /v1/disbursement/crypto`."""

    token: Annotated[str, Text()]
    receivers: Annotated[list[Receiver], Parts(Receiver, MOST_ITEMS)]


@dataclass(frozen=True)
class WantedEstimate:
    """The query of `GET /v1/disbursement/crypto/estimate`."""

    token: Annotated[str, Text()]
    amount: Annotated[Decimal, Amount()]


def disburse(session: Session, user_id: str, wanted: NewCryptoDisbursements) -> CryptoBatch:
    """Store the whole batch."""
    check_size(_FIELD, wanted.receivers)
    token = find_token(wanted.token)
    if token is None:
        # Labelled like this by the interface: the number of one error with the name of another.
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


def _order(token: Token, field: str, receiver: Receiver) -> Order:
    fault = fault_of(receiver.receiver_wallet_address, token.blockchain_type)
    if fault is not None:
        raise FieldError(f"{field}.receiverWalletAddress {fault}.")
    amount = in_units(f"{field}.amount", receiver.amount, token.id)
    return Order(token.id, amount, fees_of(token), receiver.reference, receiver.note)


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
    """What sending the amount to one receiver would cost, by the formula that it would be charged by."""
    token = find_token(wanted.token)
    if token is None:
        raise FieldError("token is no token id; GET /v1/reference/cryptos lists them.")
    if unknown("estimate_amount") == "integer" and wanted.amount != wanted.amount.to_integral_value():
        raise FieldError("amount must be a whole number of tokens.")
    amount = in_units("amount", wanted.amount, token.id)
    return FeeEstimate(token.id, amount, fee_of(fees_of(token), amount, token.id))
