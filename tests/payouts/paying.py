"""A shop that pays out at the sandbox, and what its tests say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask_paycheckout import PayoutReport, ToBank, ToRecipient, ToWallet
from flask_paycheckout.rules.destinations import Destination
from flask_paycheckout.testing import RequestedPayout, Sandbox
from tests.scripted import Shop

# Of the sandbox's start state, with an account in USD.
ADA = ToRecipient("5a6d00000000000000000101")
NUMBER = "40001234-777 31"
BANK = ToBank("Bo Baker", NUMBER, "us_first_sandbox", "First Sandbox Bank", email="bo@example.com")
WALLET = ToWallet("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
TOKEN = "usdc-polygon"
FIAT, CRYPTO = "POST /v2/disbursement/fiat", "POST /v1/disbursement/crypto"
LIST, READ = "GET /v1/disbursement/fiat", "GET /v1/disbursement/fiat/{id}"


@dataclass
class Payer:
    """A shop with its sandbox."""

    shop: Shop
    sandbox: Sandbox

    def owes(self, reference: str = "p-1", amount: str = "80.00", to: Destination = ADA, **more: Any) -> str:
        """Commits a payout, by default of US dollars or tokens as its destination takes them; gives its reference."""
        currency = more.pop("currency", TOKEN if isinstance(to, ToWallet) else "USD")
        with self.shop.app.app_context():
            self.shop.paycheckout.pay_out(reference, amount, currency, to, **more)
            self.shop.db.session.commit()
        return reference

    def sends(self, access_token: Any = None) -> PayoutReport:
        with self.shop.app.app_context():
            return self.shop.paycheckout.send_payouts(access_token)

    def payout(self, reference: str = "p-1") -> Any:
        found = self.shop.runtime.payouts.find(reference)
        assert found is not None
        return found

    def status(self, reference: str = "p-1") -> str:
        return str(self.payout(reference).status)

    @property
    def statuses(self) -> dict[str, int]:
        return self.shop.runtime.payouts.counts()

    @property
    def at_service(self) -> list[RequestedPayout]:
        return self.sandbox.payouts
