"""Countries with their currencies, and the details that a transfer to a bank account needs.

Currencies and their names are those of ISO 4217; `money/currencies.py` has their decimals.
"""

from __future__ import annotations

from dataclasses import dataclass

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
