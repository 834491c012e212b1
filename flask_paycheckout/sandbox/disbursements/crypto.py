"""Crypto disbursements: their requests and records, `POST /v1/disbursement/crypto`, and the estimate of its fee."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

from flask import Blueprint
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.disbursements.addresses import WalletAddress, check_address, sending_wallet
from flask_paycheckout.sandbox.disbursements.batches import CREATES, MAX_ITEMS, check_size, fee_of, store_batch, sums_of
from flask_paycheckout.sandbox.disbursements.fiat_schemas import Activity, MadeStatus, with_histories
from flask_paycheckout.sandbox.disbursements.tables import CRYPTO, Disbursement
from flask_paycheckout.sandbox.wire.envelope import MAX_DIGITS, FieldError, Record, Refusal, instead
from flask_paycheckout.sandbox.wire.field_types import (
    Amount,
    LongText,
    Request,
    Text,
    TokenId,
    checked,
    choice,
    in_units,
    listed,
    number,
    reference_to,
)
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.money import EVM, STELLAR, TOKENS_BY_ID, Token

BlockchainType = Annotated[str, choice(EVM, STELLAR)]


# A token that cannot be sent is refused with a message of its own.
AnyToken = Annotated[str, checked("a text", bool, **reference_to("TokenId"))]
_BOUNDS = {"exclusiveMinimum": 0, "exclusiveMaximum": 10**MAX_DIGITS}
_INTEGER = instead("estimate_amount", "integer", type="integer", **_BOUNDS)
EstimatedAmount = Annotated[Decimal, number("a positive number", _INTEGER, **_BOUNDS)]


class Receiver(Request):
    """A wallet and the amount that it is sent, in the request's token."""

    amount: Amount
    receiver_wallet_address: WalletAddress
    reference: Text | None = None
    note: LongText | None = None


class NewCryptoDisbursements(Request):
    """The body of `POST /v1/disbursement/crypto`."""

    token: AnyToken
    receivers: Annotated[list[Receiver], listed(MAX_ITEMS)]


class WantedEstimate(Request):
    """The query of `GET /v1/disbursement/crypto/estimate`."""

    token: TokenId
    amount: EstimatedAmount


class FeeConfig(Record):
    """The parts of the fee; amounts are in the token."""

    fee_flat: Decimal
    fee_percentage: Decimal
    fee_network: Decimal


class CryptoDisbursement(Record):
    """A transfer of tokens. `tokenAddress` is the address in the list of tokens; a network's own coin may have none."""

    disbursement_id: str
    group_id: str
    token_address: str
    receiver_address: str
    sender_address: str
    amount: Decimal
    token: str
    token_decimal: int
    network: str
    blockchain_type: BlockchainType
    fee_amount: Decimal
    fee_percentage: Decimal
    fee_config: FeeConfig
    status: MadeStatus
    created_by: str
    activity_history: list[Activity]
    reference: str | None = None


class CryptoBatch(Record):
    """The answer to a create; its sums are in the token."""

    total_receiver: int
    disburse_data: list[CryptoDisbursement]
    sum_fees: Decimal
    sum_amount: Decimal


class FeeEstimate(Record):
    """The fee of sending an amount to one receiver, in the token."""

    token: str
    amount: Decimal
    fee: Decimal


def represent_crypto(session: Session, disbursements: Sequence[Disbursement]) -> list[CryptoDisbursement]:
    """Convert disbursements to records, with one query for all of them."""
    return [_record(disbursement, history) for disbursement, history in with_histories(session, disbursements)]


def _record(disbursement: Disbursement, history: list[Activity]) -> CryptoDisbursement:
    token = TOKENS_BY_ID[disbursement.currency]
    return CryptoDisbursement.of(
        *(disbursement, token),
        disbursement_id=disbursement.id,
        token=token.id,
        token_address=token.address,
        token_decimal=token.decimal,
        fee_config=FeeConfig.of(disbursement),
        created_by=disbursement.user_id,
        activity_history=history,
    )


_PERCENTAGE = Decimal("0.2")

_FIELD = "receivers"

crypto_disbursements = Blueprint("crypto_disbursements", __name__)


def _fee_of(token: Token, amount: Decimal) -> Decimal:
    return fee_of(amount, token.id, _PERCENTAGE, token.fee_flat, token.fee_network)


@crypto_disbursements.post("/v1/disbursement/crypto")
@operation(**CREATES)
def create_crypto_disbursements(session: Session, account: Account, sent: NewCryptoDisbursements) -> CryptoBatch:
    """Send a token to wallets, all of them or none."""
    check_size(_FIELD, sent.receivers)
    token = TOKENS_BY_ID.get(sent.token)
    if token is None:
        # The interface shows this combination: the statusCode of a bad request with the name of another error.
        raise Refusal(400, "Payment method not found", "Not Found")
    items = [
        _item(account.user_id, token, f"{_FIELD}[{place}]", receiver) for place, receiver in enumerate(sent.receivers)
    ]
    disbursements = store_batch(session, _FIELD, items, grouped=True)
    return CryptoBatch(
        total_receiver=len(disbursements),
        disburse_data=represent_crypto(session, disbursements),
        **sums_of(disbursements),
    )


def _item(user_id: str, token: Token, field: str, receiver: Receiver) -> Disbursement:
    check_address(f"{field}.receiverWalletAddress", receiver.receiver_wallet_address, token.blockchain_type)
    amount = in_units(f"{field}.amount", receiver.amount, token.id)
    return Disbursement(
        kind=CRYPTO,
        user_id=user_id,
        currency=token.id,
        amount=amount,
        fee_amount=_fee_of(token, amount),
        fee_percentage=_PERCENTAGE,
        reference=receiver.reference,
        note=receiver.note,
        sender_address=sending_wallet(user_id, token.blockchain_type),
        receiver_address=receiver.receiver_wallet_address,
        fee_flat=token.fee_flat,
        fee_network=token.fee_network,
    )


@crypto_disbursements.get("/v1/disbursement/crypto/estimate")
@operation()
def estimate_crypto_fee(query: WantedEstimate) -> FeeEstimate:
    """Estimate the fee for sending an amount of a token to one wallet, by the formula that disbursements use."""
    token = TOKENS_BY_ID[query.token]
    if assumption("estimate_amount") == "integer" and query.amount != query.amount.to_integral_value():
        raise FieldError("amount must be a whole number of tokens.")
    amount = in_units("amount", query.amount, token.id)
    return FeeEstimate(token.id, amount, _fee_of(token, amount))
