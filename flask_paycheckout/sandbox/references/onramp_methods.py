"""Methods of paying fiat money for crypto (onramp), for the reference list."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

CARD = "card"
BANK_TRANSFER = "bank_transfer"
WALLET = "e_wallet"


@dataclass(frozen=True)
class OnrampMethod:
    """A method in one currency, with its fees in that currency."""

    code: str
    name: str
    group: str
    currency: str
    flat_fee: Decimal
    percent_fee: Decimal
    is_active: bool


def _method(
    code: str, name: str, group: str, currency: str, flat: str, percent: str, *, on: bool = True
) -> OnrampMethod:
    return OnrampMethod(code, name, group, currency, Decimal(flat), Decimal(percent), on)


ONRAMP_METHODS = (
    _method("onramp_us_card", "Debit or credit card", CARD, "USD", "0.30", "2.9"),
    _method("onramp_us_ach", "ACH transfer", BANK_TRANSFER, "USD", "0.25", "0.5"),
    _method("onramp_eu_card", "Debit or credit card", CARD, "EUR", "0.25", "2.4"),
    _method("onramp_eu_sepa", "SEPA transfer", BANK_TRANSFER, "EUR", "0.35", "0.3"),
    _method("onramp_uk_card", "Debit or credit card", CARD, "GBP", "0.20", "2.4"),
    _method("onramp_uk_faster_payment", "Faster payment", BANK_TRANSFER, "GBP", "0.20", "0.3"),
    _method("onramp_id_virtual_account", "Virtual account", BANK_TRANSFER, "IDR", "4000", "0"),
    _method("onramp_id_wallet", "Mobile wallet", WALLET, "IDR", "0", "1.5"),
    _method("onramp_in_upi", "Instant transfer", BANK_TRANSFER, "INR", "0", "0.9"),
    _method("onramp_sg_fast", "Fast transfer", BANK_TRANSFER, "SGD", "0.20", "0.4"),
    _method("onramp_jp_konbini", "Convenience store", WALLET, "JPY", "150", "1", on=False),
)
