"""Reference data that does not change: countries, banks, and the ways to pay in and out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from flask_paycheckout.sandbox.checkouts.methods import payment_methods
from flask_paycheckout.sandbox.disbursements.banks import METHODS
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp
from flask_paycheckout.sandbox.world.money import rows_of
from flask_paycheckout.sandbox.world.settings import derived

_NEEDS = {
    kind: frozenset(needs.split())
    for kind, needs in rows_of("""
us     | bank_name account_number ach_or_wire
india  | bank_name account_number ifsc
europe | iban
gulf   | bank_name iban
local  | bank_name account_number
""")
}
"""Details that a transfer needs besides the account holder's name, by the last column of the countries."""


@dataclass(frozen=True)
class Country:
    """One country with its currency."""

    code: str
    name: str
    currency: str
    currency_name: str
    symbol: str
    needs: frozenset[str]


COUNTRIES = tuple(
    Country(code, name, currency, currency_name, symbol, _NEEDS[needs])
    for code, name, currency, currency_name, symbol, needs in rows_of("""
AE | United Arab Emirates | AED | UAE Dirham         | د.إ  | gulf
AT | Austria              | EUR | Euro               | €    | europe
AU | Australia            | AUD | Australian Dollar  | A$   | local
BE | Belgium              | EUR | Euro               | €    | europe
BH | Bahrain              | BHD | Bahraini Dinar     | .د.ب | gulf
BR | Brazil               | BRL | Brazilian Real     | R$   | local
CA | Canada               | CAD | Canadian Dollar    | C$   | local
CH | Switzerland          | CHF | Swiss Franc        | CHF  | europe
CL | Chile                | CLP | Chilean Peso       | CLP$ | local
CN | China                | CNY | Yuan Renminbi      | ¥    | local
CZ | Czechia              | CZK | Czech Koruna       | Kč   | europe
DE | Germany              | EUR | Euro               | €    | europe
DK | Denmark              | DKK | Danish Krone       | kr   | europe
EG | Egypt                | EGP | Egyptian Pound     | E£   | gulf
ES | Spain                | EUR | Euro               | €    | europe
FI | Finland              | EUR | Euro               | €    | europe
FR | France               | EUR | Euro               | €    | europe
GB | United Kingdom       | GBP | Pound Sterling     | £    | local
HK | Hong Kong            | HKD | Hong Kong Dollar   | HK$  | local
HU | Hungary              | HUF | Forint             | Ft   | europe
ID | Indonesia            | IDR | Rupiah             | Rp   | local
IE | Ireland              | EUR | Euro               | €    | europe
IN | India                | INR | Indian Rupee       | ₹    | india
IT | Italy                | EUR | Euro               | €    | europe
JP | Japan                | JPY | Yen                | ¥    | local
KE | Kenya                | KES | Kenyan Shilling    | KSh  | local
KR | South Korea          | KRW | Won                | ₩    | local
KW | Kuwait               | KWD | Kuwaiti Dinar      | د.ك  | gulf
MX | Mexico               | MXN | Mexican Peso       | MX$  | local
MY | Malaysia             | MYR | Malaysian Ringgit  | RM   | local
NG | Nigeria              | NGN | Naira              | ₦    | local
NL | Netherlands          | EUR | Euro               | €    | europe
NO | Norway               | NOK | Norwegian Krone    | kr   | europe
NZ | New Zealand          | NZD | New Zealand Dollar | NZ$  | local
PH | Philippines          | PHP | Philippine Peso    | ₱    | local
PL | Poland               | PLN | Zloty              | zł   | europe
PT | Portugal             | EUR | Euro               | €    | europe
SA | Saudi Arabia         | SAR | Saudi Riyal        | ر.س  | gulf
SE | Sweden               | SEK | Swedish Krona      | kr   | europe
SG | Singapore            | SGD | Singapore Dollar   | S$   | local
TH | Thailand             | THB | Baht               | ฿    | local
TR | Türkiye              | TRY | Turkish Lira       | ₺    | gulf
US | United States        | USD | US Dollar          | $    | us
VN | Vietnam              | VND | Dong               | ₫    | local
ZA | South Africa         | ZAR | Rand               | R    | local
""")
)

CURRENCIES = frozenset(country.currency for country in COUNTRIES)


_FIRST_ADDED = datetime(2024, 1, 2, 9, 0, tzinfo=UTC)
_NAMES = {country.code: country.name for country in COUNTRIES}
_INVENTED = ("First Lantern Bank of", "Quillfeather Savings")


class BankRecord(Record):
    own_id: str = msgspec.field(name="_id")
    id: str
    name: str
    payment_code: str
    country: str
    currency: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int = msgspec.field(name="__v")


def _rows() -> Iterator[tuple[str, str, str, str]]:
    for method in METHODS:
        # A bank code begins with the country's code.
        country_code = method.bank_code.partition("_")[0].upper()
        yield method.bank_name, method.bank_code, _NAMES[country_code], method.currency
    for country in COUNTRIES:
        for number, name in enumerate(_INVENTED, 1):
            code = f"{country.code.lower()}_invented_{number}"
            yield f"{name} {country.name}", code, country.name, country.currency


def _banks() -> Iterator[BankRecord]:
    rows = list(_rows())
    for number, (name, code, country, currency) in enumerate(rows):
        identifier, created_at = derived(f"bank:{code}"), _FIRST_ADDED + timedelta(days=number)
        # In another order than created_at, so that the two ways of sorting differ.
        updated_at = _FIRST_ADDED + timedelta(days=400 + number * 37 % len(rows))
        yield BankRecord(identifier, identifier, name, code, country, currency, created_at, updated_at, 0)


BANKS = tuple(_banks())
PAYABLE = {method.bank_code for method in METHODS}
"""The codes of the banks to which fiat disbursements can be sent."""


ONRAMP_METHODS = payment_methods("""
onramp_us_card            | Debit or credit card | card          | USD | 0.30 2.9 |  | on
onramp_us_ach             | ACH transfer         | bank_transfer | USD | 0.25 0.5 |  | on
onramp_eu_card            | Debit or credit card | card          | EUR | 0.25 2.4 |  | on
onramp_eu_sepa            | SEPA transfer        | bank_transfer | EUR | 0.35 0.3 |  | on
onramp_uk_card            | Debit or credit card | card          | GBP | 0.20 2.4 |  | on
onramp_uk_faster_payment  | Faster payment       | bank_transfer | GBP | 0.20 0.3 |  | on
onramp_id_virtual_account | Virtual account      | bank_transfer | IDR | 4000 0   |  | on
onramp_id_wallet          | Mobile wallet        | e_wallet      | IDR | 0 1.5    |  | on
onramp_in_upi             | Instant transfer     | bank_transfer | INR | 0 0.9    |  | on
onramp_sg_fast            | Fast transfer        | bank_transfer | SGD | 0.20 0.4 |  | on
onramp_jp_konbini         | Convenience store    | e_wallet      | JPY | 150 1    |  | off
""")
