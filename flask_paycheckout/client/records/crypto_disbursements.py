"""Token transfers: what is sent for them, and what the service answers about them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from flask_paycheckout.client.amounts import Amount
from flask_paycheckout.client.records.record import Activity, BlockchainType, DisbursementStatus, Record

__all__ = ["CryptoBatch", "CryptoDisbursement", "CryptoReceiver", "FeeConfig", "FeeEstimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CryptoReceiver:
    """One token transfer to make.

    :ivar amount: Decimal, int or str, in whole tokens and fractions of them; never a float.
    :ivar reference: the shop's own, unique among all disbursements.
    """

    amount: Amount
    receiver_wallet_address: str
    reference: str | None = None
    note: str | None = None


class FeeConfig(Record, frozen=True, rename="camel"):
    """Parts of a transfer's fee: flat, percent of the amount, and the network's own."""

    fee_flat: Decimal | None = None
    fee_percentage: Decimal | None = None
    fee_network: Decimal | None = None


class CryptoDisbursement(Record, frozen=True, rename="camel"):
    """A token transfer as the service sees it.

    :ivar amount: in tokens.
    :ivar token: token id, `<symbol>-<network>`.
    :ivar token_address: of the token's contract.
    :ivar token_decimal: decimals that the token's amounts can have.
    :ivar blockchain_type: `EVM` or `STELLAR`.
    :ivar fee_amount: in tokens.
    :ivar status: `pending`, `failed` or `completed`.
    """

    disbursement_id: str
    status: DisbursementStatus | str
    group_id: str | None = None
    token_address: str | None = None
    receiver_address: str | None = None
    sender_address: str | None = None
    amount: Decimal | None = None
    token: str | None = None
    token_decimal: int | None = None
    network: str | None = None
    blockchain_type: BlockchainType | str | None = None
    fee_amount: Decimal | None = None
    fee_percentage: Decimal | None = None
    fee_config: FeeConfig | None = None
    created_by: str | None = None
    activity_history: tuple[Activity, ...] = ()
    reference: str | None = None


class CryptoBatch(Record, frozen=True, rename="camel"):
    """The transfers of one `create`, and their sums in the batch's token."""

    disburse_data: tuple[CryptoDisbursement, ...]
    total_receiver: int | None = None
    sum_fees: Decimal | None = None
    sum_amount: Decimal | None = None


class FeeEstimate(Record, frozen=True):
    """The `fee` of transferring `amount` of `token`, in tokens."""

    token: str
    amount: Decimal
    fee: Decimal
