"""Crypto disbursements: token transfers to wallets, in batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Unpack

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import Amount, batch, query_text, text, whole_amount
from flask_paycheckout.client.records import GIVEN, Activity, Record
from flask_paycheckout.client.resource import Resource, method
from flask_paycheckout.client.sending import Access, Operation
from flask_paycheckout.client.waiting import CallOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CryptoReceiver:
    """One token transfer to make.

    :ivar amount: Decimal, int or str, in tokens, with any fraction; never a float.
    :ivar reference: the shop's own reference, unique among all disbursements.
    """

    amount: Amount
    receiver_wallet_address: str
    reference: str | None = None
    note: str | None = None


class FeeConfig(Record, frozen=True):
    """The parts of a transfer's fee: flat, percent of the amount, and the network's fee."""

    fee_flat: Decimal = GIVEN
    fee_percentage: Decimal = GIVEN
    fee_network: Decimal = GIVEN


class CryptoDisbursement(Record, frozen=True):
    """A token transfer in the service.

    :ivar amount: the amount in tokens.
    :ivar token: the token id, `<symbol>-<network>`.
    :ivar token_address: the address of the token's contract.
    :ivar token_decimal: the maximum number of decimals of the token's amounts.
    :ivar blockchain_type: `EVM` or `STELLAR`.
    :ivar fee_amount: the fee in tokens.
    :ivar status: `pending`, `failed` or `completed`.
    """

    disbursement_id: str
    status: str = GIVEN
    group_id: str = GIVEN
    token_address: str = GIVEN
    receiver_address: str = GIVEN
    sender_address: str = GIVEN
    amount: Decimal = GIVEN
    token: str = GIVEN
    token_decimal: int = GIVEN
    network: str = GIVEN
    blockchain_type: str = GIVEN
    fee_amount: Decimal = GIVEN
    fee_percentage: Decimal = GIVEN
    fee_config: FeeConfig = GIVEN
    created_by: str = GIVEN
    activity_history: tuple[Activity, ...] = ()
    reference: str | None = None


class CryptoBatch(Record, frozen=True):
    """The transfers of one `create`, and their sums in the batch's token."""

    disburse_data: tuple[CryptoDisbursement, ...]
    total_receiver: int = GIVEN
    sum_fees: Decimal = GIVEN
    sum_amount: Decimal = GIVEN


class FeeEstimate(Record, frozen=True):
    """The `fee` of transferring `amount` of `token`, in tokens."""

    token: str
    amount: Decimal
    fee: Decimal


# The interface has no operation that reads a crypto disbursement.
_HOW = "look for it in the service's dashboard or on the chain: its interface does not read crypto disbursements"

_CREATE = Operation(
    "POST", "/v1/disbursement/crypto", CryptoBatch, may_move_money=True, access=Access.BEARER, lookup=_HOW
)
_ESTIMATE = Operation("GET", "/v1/disbursement/crypto/estimate", FeeEstimate)


class CryptoDisbursements(Resource[W]):
    """`client.crypto_disbursements`. `create` requires an access token, see `client.auth`.

    The service's interface has no operation that reads them later: keep the result of `create`.

    >>> from flask_paycheckout.client import CryptoReceiver
    >>> print(client.crypto_disbursements.estimate("usdc-polygon", 100).fee)  # in tokens
    0.310000
    >>> receiver = CryptoReceiver(
    ...     amount="100.25", receiver_wallet_address="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", reference="prize-1"
    ... )
    >>> batch = client.crypto_disbursements.create("usdc-polygon", [receiver])
    >>> for made in batch.disburse_data:
    ...     print(made.reference, made.amount, made.token, made.status)
    prize-1 100.250000 usdc-polygon pending
    """

    @method
    async def create(
        self, token: str, receivers: Iterable[CryptoReceiver], **options: Unpack[CallOptions]
    ) -> CryptoBatch:
        """Sends tokens to every receiver's wallet. Never retried after it was sent; give each receiver a `reference`.

        :param token: the token id, `<symbol>-<network>`.
        :raises Invalid: the service refuses the batch; no part of it is carried out.
        :raises OutcomeUnknown: the answer was lost, and money may move. The interface has no operation that reads
            crypto disbursements: look for the `references` in the service's dashboard.
        :raises ServiceFault: the service failed, and money may also move.
        :raises TypeError: a receiver or its amount has the wrong type; the text names it.
        :raises ValueError: a receiver cannot be sent; the text names it.
        :raises PaymentsError: see `errors`.
        """
        text("token", token)
        entries, references = batch("receivers", receivers, CryptoReceiver)
        body = {"token": token, "receivers": entries}
        return await self._caller.record(_CREATE, body=body, references=references)

    @method
    async def estimate(self, token: str, amount: Amount, **options: Unpack[CallOptions]) -> FeeEstimate:
        """The fee of transferring `amount` of `token`.

        :param amount: a whole number of tokens: the interface takes an integer.
        :raises Invalid: the service does not know the token.
        :raises ValueError: the amount is no whole number, or not positive.
        :raises PaymentsError: see `errors`.
        """
        query = query_text({"token": text("token", token), "amount": whole_amount("amount", amount)})
        return await self._caller.record(_ESTIMATE, query=query)
