"""Requests and records of crypto disbursements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.batches import MAX_ITEMS, transfers_of
from flask_paycheckout.sandbox.disbursements.fiat_schemas import Activity, represent_history
from flask_paycheckout.sandbox.disbursements.tables import MAX_NOTE, Disbursement, WalletTransfer
from flask_paycheckout.sandbox.wire.envelope import Record
from flask_paycheckout.sandbox.wire.field_types import (
    NestedList,
    Note,
    OptionalText,
    RequiredAmount,
    RequiredText,
    Text,
)
from flask_paycheckout.sandbox.world.money import TOKENS_BY_ID
from flask_paycheckout.sandbox.world.transitions import histories_of

MAX_ADDRESS = 100
"""Longer than the addresses of every supported chain."""


@dataclass(frozen=True)
class Receiver:
    """A wallet and the amount that it is sent, in the request's token."""

    amount: RequiredAmount
    receiver_wallet_address: Annotated[str, Text(MAX_ADDRESS)]
    reference: OptionalText = None
    note: Annotated[str | None, Note(MAX_NOTE)] = None


@dataclass(frozen=True)
class NewCryptoDisbursements:
    """The body of `POST /v1/disbursement/crypto`."""

    token: RequiredText
    receivers: Annotated[list[Receiver], NestedList(Receiver, MAX_ITEMS)]


@dataclass(frozen=True)
class WantedEstimate:
    """The query of `GET /v1/disbursement/crypto/estimate`."""

    token: RequiredText
    amount: RequiredAmount


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
    blockchain_type: str
    fee_amount: Decimal
    fee_percentage: Decimal
    fee_config: FeeConfig
    status: str
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
    """Convert disbursements to records, with two queries for all of them."""
    transfers = transfers_of(session, WalletTransfer, disbursements)
    histories = histories_of(session, transfers)
    return [_record(made, transfers[made.id], represent_history(histories[made.id])) for made in disbursements]


def _record(made: Disbursement, transfer: WalletTransfer, history: list[Activity]) -> CryptoDisbursement:
    token = TOKENS_BY_ID[made.currency]
    return CryptoDisbursement.of(
        *(made, transfer, token),
        disbursement_id=made.id,
        token=token.id,
        token_address=token.address,
        token_decimal=token.decimal,
        fee_config=FeeConfig.of(transfer, made),
        created_by=made.user_id,
        activity_history=history,
    )
