"""The form in which a customer says where a refund shall go: fields, faults, countries, and what an IBAN says. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType

from flask_paycheckout.payouts.destinations import (
    MAX_TEXT,
    ToWallet,
    begins_like_iban,
    iban_of,
    is_account_number,
    is_email,
    is_one_line,
    masked_account,
    require_destination,
)
from flask_paycheckout.text import trimmed
from flask_paycheckout.totals import is_token

# Where the bank's code stands behind the check digits, from SWIFT's registry of IBANs: its length, by country.
_CODES = """AD4 AE3 AL8 AT5 AZ4 BA3 BE3 BG4 BH4 BR8 BY4 CH5 CR4 CY3 CZ4 DE8 DK4 DO4 EE2 EG4 ES4 FI3 FO4 FR5 GB4 GE2
GI4 GL4 GR3 GT4 HR7 HU3 IE4 IL3 IQ4 IS2 JO4 KW4 KZ3 LB4 LC4 LI5 LT5 LU3 LV4 LY3 MC5 MD2 ME3 MK3 MR5 MT4 MU6 NL4 NO4 PK4
PL8 PS4 PT4 QA4 RO4 RS3 SA2 SC6 SE3 SI5 SK4 ST4 SV4 TL3 TN2 TR5 UA6 VA3 VG4 XK4"""
# In these countries a check letter comes first.
_AFTER_A_LETTER = {"IT": 5, "SM": 5}


@cache
def countries() -> Mapping[str, str]:
    """The English names of all countries by code; the service takes a country by its name."""
    listed: dict[str, str] = json.loads(Path(__file__).with_name("countries.json").read_text(encoding="utf-8"))
    return MappingProxyType(listed)


def bank_in_iban(iban: str) -> str:
    """The country and the bank's code that an IBAN names, such as "Germany, 37040044"."""
    lengths = {code[:2]: int(code[2:]) for code in re.findall(r"\w+", _CODES)}
    country, start = iban[:2], 4 + (iban[:2] in _AFTER_A_LETTER)
    code = iban[start : start + (lengths | _AFTER_A_LETTER).get(country, 0)]
    return ", ".join(filter(None, (countries().get(country, country), code)))


ACCOUNT_NUMBER = "account_number"
"""The field that is never shown again, and must be typed again."""

_BANK_FIELDS = ("account_name", ACCOUNT_NUMBER, "bank_name", "country", "email", "address", "city", "post_code")
_WALLET_FIELDS = ("wallet_address",)


class Fault(StrEnum):
    """The fault of a field."""

    MISSING = "missing"
    TOO_LONG = "too long"
    SEVERAL_LINES = "line breaks or control characters"
    NO_EMAIL = "no e-mail address"
    NO_ACCOUNT_NUMBER = "no account number"
    NO_IBAN = "check digits of an IBAN that do not fit"
    NO_WALLET = "no address of a wallet"


@dataclass(frozen=True)
class RefundForm:
    """The form as a customer filled it in, without spaces at the ends of the values."""

    values: Mapping[str, str] = field(repr=False)
    """All fields of the form."""

    faults: Mapping[str, Fault]
    """The fault of each field that has one; empty when everything can be used."""

    @property
    def wallet(self) -> ToWallet | None:
        """The wallet; None where a bank account was asked for."""
        address = self.values.get("wallet_address")
        return None if address is None else ToWallet(address)

    @property
    def masked(self) -> str:
        """The destination for people, without an account number."""
        if self.wallet is not None:
            return self.wallet.masked
        number, bank = self.values[ACCOUNT_NUMBER], self.values["bank_name"]
        iban = iban_of(number)
        # The bank in the IBAN is shown beside the typed name: a person compares both before the money goes.
        named = bank if iban is None else f"{bank} (IBAN: {bank_in_iban(iban)})"
        return masked_account(self.values["account_name"], named, number)


def fields_of(currency: str) -> tuple[str, ...]:
    """The fields that are asked for, in their order on the page: a wallet for a token, else a bank account."""
    return _WALLET_FIELDS if is_token(currency) else _BANK_FIELDS


def read_form(currency: str, typed: Mapping[str, str]) -> RefundForm:
    """Check what was typed into the fields of this currency; other fields are ignored.

    :param typed: the text of each field; a missing one counts as empty.
    """
    values = {name: trimmed(typed.get(name, "")) for name in fields_of(currency)}
    faults = {name: fault for name, value in values.items() if (fault := _fault(name, value, currency))}
    return RefundForm(values, faults)


def _fault(name: str, value: str, currency: str) -> Fault | None:
    if not value:
        return Fault.MISSING
    if not is_one_line(value):
        return Fault.SEVERAL_LINES
    if name == ACCOUNT_NUMBER:
        if begins_like_iban(value) and iban_of(value) is None:
            return Fault.NO_IBAN
        return None if is_account_number(value) else Fault.NO_ACCOUNT_NUMBER
    if len(value) > MAX_TEXT:
        return Fault.TOO_LONG
    if name == "email" and not is_email(value):
        return Fault.NO_EMAIL
    if name == "wallet_address":
        try:
            require_destination(ToWallet(value), currency)
        except ValueError:
            return Fault.NO_WALLET
    return None
