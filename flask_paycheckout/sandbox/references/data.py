"""Reference data that does not change: countries, banks, and the ways to pay in and out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flask_paycheckout.sandbox.checkouts.methods import BANK_TRANSFER, payment_method
from flask_paycheckout.sandbox.disbursements.banks import METHODS

BANK_NAME = "bank name"
"""Details that a transfer can need besides the account holder's name."""
ACCOUNT_NUMBER = "account number"
IBAN = "IBAN"
IFSC = "IFSC"
ACH_OR_WIRE = "ACH or Fedwire number"

_US = frozenset({BANK_NAME, ACCOUNT_NUMBER, ACH_OR_WIRE})
_INDIA = frozenset({BANK_NAME, ACCOUNT_NUMBER, IFSC})
_EUROPE = frozenset({IBAN})
_GULF = frozenset({BANK_NAME, IBAN})
_LOCAL = frozenset({BANK_NAME, ACCOUNT_NUMBER})


@dataclass(frozen=True)
class Country:
    """One country with its currency."""

    code: str
    name: str
    currency: str
    currency_name: str
    symbol: str
    needs: frozenset[str]


COUNTRIES = (
    Country("AE", "United Arab Emirates", "AED", "UAE Dirham", "د.إ", _GULF),
    Country("AT", "Austria", "EUR", "Euro", "€", _EUROPE),
    Country("AU", "Australia", "AUD", "Australian Dollar", "A$", _LOCAL),
    Country("BE", "Belgium", "EUR", "Euro", "€", _EUROPE),
    Country("BH", "Bahrain", "BHD", "Bahraini Dinar", ".د.ب", _GULF),
    Country("BR", "Brazil", "BRL", "Brazilian Real", "R$", _LOCAL),
    Country("CA", "Canada", "CAD", "Canadian Dollar", "C$", _LOCAL),
    Country("CH", "Switzerland", "CHF", "Swiss Franc", "CHF", _EUROPE),
    Country("CL", "Chile", "CLP", "Chilean Peso", "CLP$", _LOCAL),
    Country("CN", "China", "CNY", "Yuan Renminbi", "¥", _LOCAL),
    Country("CZ", "Czechia", "CZK", "Czech Koruna", "Kč", _EUROPE),
    Country("DE", "Germany", "EUR", "Euro", "€", _EUROPE),
    Country("DK", "Denmark", "DKK", "Danish Krone", "kr", _EUROPE),
    Country("EG", "Egypt", "EGP", "Egyptian Pound", "E£", _GULF),
    Country("ES", "Spain", "EUR", "Euro", "€", _EUROPE),
    Country("FI", "Finland", "EUR", "Euro", "€", _EUROPE),
    Country("FR", "France", "EUR", "Euro", "€", _EUROPE),
    Country("GB", "United Kingdom", "GBP", "Pound Sterling", "£", _LOCAL),
    Country("HK", "Hong Kong", "HKD", "Hong Kong Dollar", "HK$", _LOCAL),
    Country("HU", "Hungary", "HUF", "Forint", "Ft", _EUROPE),
    Country("ID", "Indonesia", "IDR", "Rupiah", "Rp", _LOCAL),
    Country("IE", "Ireland", "EUR", "Euro", "€", _EUROPE),
    Country("IN", "India", "INR", "Indian Rupee", "₹", _INDIA),
    Country("IT", "Italy", "EUR", "Euro", "€", _EUROPE),
    Country("JP", "Japan", "JPY", "Yen", "¥", _LOCAL),
    Country("KE", "Kenya", "KES", "Kenyan Shilling", "KSh", _LOCAL),
    Country("KR", "South Korea", "KRW", "Won", "₩", _LOCAL),
    Country("KW", "Kuwait", "KWD", "Kuwaiti Dinar", "د.ك", _GULF),
    Country("MX", "Mexico", "MXN", "Mexican Peso", "MX$", _LOCAL),
    Country("MY", "Malaysia", "MYR", "Malaysian Ringgit", "RM", _LOCAL),
    Country("NG", "Nigeria", "NGN", "Naira", "₦", _LOCAL),
    Country("NL", "Netherlands", "EUR", "Euro", "€", _EUROPE),
    Country("NO", "Norway", "NOK", "Norwegian Krone", "kr", _EUROPE),
    Country("NZ", "New Zealand", "NZD", "New Zealand Dollar", "NZ$", _LOCAL),
    Country("PH", "Philippines", "PHP", "Philippine Peso", "₱", _LOCAL),
    Country("PL", "Poland", "PLN", "Zloty", "zł", _EUROPE),
    Country("PT", "Portugal", "EUR", "Euro", "€", _EUROPE),
    Country("SA", "Saudi Arabia", "SAR", "Saudi Riyal", "ر.س", _GULF),
    Country("SE", "Sweden", "SEK", "Swedish Krona", "kr", _EUROPE),
    Country("SG", "Singapore", "SGD", "Singapore Dollar", "S$", _LOCAL),
    Country("TH", "Thailand", "THB", "Baht", "฿", _LOCAL),
    Country("TR", "Türkiye", "TRY", "Turkish Lira", "₺", _GULF),
    Country("US", "United States", "USD", "US Dollar", "$", _US),
    Country("VN", "Vietnam", "VND", "Dong", "₫", _LOCAL),
    Country("ZA", "South Africa", "ZAR", "Rand", "R", _LOCAL),
)

CURRENCIES = frozenset(country.currency for country in COUNTRIES)


_FIRST_ADDED = datetime(2024, 1, 2, 9, 0, tzinfo=UTC)
_NAMES = {country.code: country.name for country in COUNTRIES}
_INVENTED = ("First Lantern Bank of", "Quillfeather Savings")


@dataclass(frozen=True)
class Bank:
    """One bank in one country and currency."""

    name: str
    payment_code: str
    country: str
    currency: str
    is_available: bool
    """Whether fiat disbursements can be sent to it."""
    created_at: datetime
    updated_at: datetime


def _rows() -> Iterator[tuple[str, str, str, str, bool]]:
    for method in METHODS:
        # A bank code begins with the country's code.
        country_code = method.bank_code.partition("_")[0].upper()
        yield method.bank_name, method.bank_code, _NAMES[country_code], method.currency, True
    for country in COUNTRIES:
        for number, name in enumerate(_INVENTED, 1):
            code = f"{country.code.lower()}_invented_{number}"
            yield f"{name} {country.name}", code, country.name, country.currency, False


def _banks() -> Iterator[Bank]:
    rows = list(_rows())
    for number, row in enumerate(rows):
        # In another order than created_at, so that the two ways of sorting differ.
        changed = _FIRST_ADDED + timedelta(days=400 + number * 37 % len(rows))
        yield Bank(*row, created_at=_FIRST_ADDED + timedelta(days=number), updated_at=changed)


BANKS = tuple(_banks())


CARD, WALLET = "card", "e_wallet"

ONRAMP_METHODS = (
    payment_method("onramp_us_card", "Debit or credit card", CARD, "USD", "0.30 2.9"),
    payment_method("onramp_us_ach", "ACH transfer", BANK_TRANSFER, "USD", "0.25 0.5"),
    payment_method("onramp_eu_card", "Debit or credit card", CARD, "EUR", "0.25 2.4"),
    payment_method("onramp_eu_sepa", "SEPA transfer", BANK_TRANSFER, "EUR", "0.35 0.3"),
    payment_method("onramp_uk_card", "Debit or credit card", CARD, "GBP", "0.20 2.4"),
    payment_method("onramp_uk_faster_payment", "Faster payment", BANK_TRANSFER, "GBP", "0.20 0.3"),
    payment_method("onramp_id_virtual_account", "Virtual account", BANK_TRANSFER, "IDR", "4000 0"),
    payment_method("onramp_id_wallet", "Mobile wallet", WALLET, "IDR", "0 1.5"),
    payment_method("onramp_in_upi", "Instant transfer", BANK_TRANSFER, "INR", "0 0.9"),
    payment_method("onramp_sg_fast", "Fast transfer", BANK_TRANSFER, "SGD", "0.20 0.4"),
    payment_method("onramp_jp_konbini", "Convenience store", WALLET, "JPY", "150 1", enabled=False),
)
