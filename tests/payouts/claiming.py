"""A customer at the refund page, for the tests of claims and of the page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from werkzeug.test import TestResponse

from flask_paycheckout.security.signed_links import REFUND
from tests.payouts.shop import payout, refunds
from tests.scripted import SAME_SITE, Shop, number

TOKEN = "usdc-polygon"
WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
# A secret that no log, page, error or repr may show; see tests/canaries.py.
NUMBER = "canary-12 3456"
FORM = {
    "account_name": "Zoë Quist",
    "account_number": NUMBER,
    "bank_name": "First Bank",
    "email": "zoe@example.com",
    "address": "1 Main Street",
    "city": "Springfield",
    "post_code": "12345",
    "country": "United States",
}


@dataclass
class Customer:
    """A customer with the link to a refund."""

    shop: Shop
    reference: str

    @property
    def path(self) -> str:
        return f"/paycheckout/refunds/{self.shop.runtime.signed_links.sign(REFUND, self.reference)}"

    def opens(self, language: str = "en") -> TestResponse:
        return self.shop.browser.get(self.path, headers={"Accept-Language": language})

    def sends(self, **changed: Any) -> TestResponse:
        """Send the form of a bank account, with these fields instead of the usual ones."""
        data = {name: value for name, value in (FORM | changed).items() if value is not None}
        return self.shop.browser.post(self.path, data=data, headers=SAME_SITE)

    def names_wallet(self, address: str = WALLET) -> TestResponse:
        return self.shop.browser.post(self.path, data={"wallet_address": address}, headers=SAME_SITE)

    @property
    def refund(self) -> Any:
        return payout(self.shop, self.reference)


def refunded(shop: Shop, amount: str | None = "5") -> Customer:
    """A customer who has paid 12.50 USD and gets this refund."""
    return Customer(shop, refunds(shop, shop.has_paid(), amount).reference)


def refunded_in_tokens(shop: Shop, order_id: str = "o-1") -> Customer:
    shop.costs("12.5", order_id, currency=TOKEN)
    checkout_id = shop.has_deposit("completed", order_id, inputCurrency=TOKEN, inputAmount=number("12.5"))
    assert shop.settles(checkout_id).status == "paid"
    return Customer(shop, refunds(shop, checkout_id, "5").reference)


def recipients(shop: Shop) -> list[dict[str, Any]]:
    """The recipients that were created at the service."""
    return [body for body in shop.service.created if "bank" in body]


def everything_stored(shop: Shop) -> str:
    """The content of all tables of the extension."""
    tables = (shop.runtime.models.payouts, shop.runtime.models.checkouts, shop.runtime.models.events)
    with shop.app.app_context(), shop.db.engine.connect() as connection:
        rows = [dict(row) for table in tables for row in connection.execute(select(table)).mappings()]
    return json.dumps(rows, default=str, ensure_ascii=False)
