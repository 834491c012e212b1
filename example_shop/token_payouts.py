"""The rail of crypto disbursements, for suppliers with a wallet: one dollar token for each dollar.

The service cannot show token transfers afterwards, so a lost answer cannot be looked up: the payout stays `unknown`
until a person has checked the chain; see `payouts.decide`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from example_shop.hooks import hooks
from example_shop.payments import paycheckout
from example_shop.suppliers import Supplier, Wallet
from flask_paycheckout.client import CryptoReceiver

if TYPE_CHECKING:
    from flask import Flask

    from example_shop.rails import Bill


class TokenTransfers:
    """The rail of token transfers, each token a currency of its own."""

    def currency_for(self, supplier: Supplier) -> str | None:
        return supplier.account.token if isinstance(supplier.account, Wallet) else None

    def send(self, currency: str, bills: Sequence[Bill]) -> Mapping[str, str]:
        receivers = [
            CryptoReceiver(
                amount=bill.amount, receiver_wallet_address=bill.supplier.account.address, reference=bill.reference
            )
            for bill in bills
            if isinstance(bill.supplier.account, Wallet)
        ]
        batch = paycheckout.client.crypto_disbursements.create(currency, receivers)
        return {str(made.reference): made.disbursement_id for made in batch.disburse_data}


def init_app(app: Flask) -> None:
    hooks(app).rails.append(TokenTransfers())
