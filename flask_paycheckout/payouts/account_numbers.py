"""Pure functions on account numbers: normalize a pasted one, check an IBAN, and name the bank of an IBAN."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from unicodedata import normalize

from flask_paycheckout.client.hidden import AccountNumber
from flask_paycheckout.text import unjoined

MAX_ACCOUNT_NUMBER = 64
_FORM = re.compile(r"[0-9A-Za-z][0-9A-Za-z ./-]*")
_WORD = re.compile(r"IBAN[\s:.]*", re.IGNORECASE)
_LIKE_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}")
# The number of last digits to show; a short number shows fewer.
_SHOWN = 4

# The length of the bank code that follows the check digits of an IBAN, by country; from SWIFT's registry of IBANs.
_CODES = """AD4 AE3 AL8 AT5 AZ4 BA3 BE3 BG4 BH4 BR8 BY4 CH5 CR4 CY3 CZ4 DE8 DK4 DO4 EE2 EG4 ES4 FI3 FO4 FR5 GB4 GE2
GI4 GL4 GR3 GT4 HR7 HU3 IE4 IL3 IQ4 IS2 JO4 KW4 KZ3 LB4 LC4 LI5 LT5 LU3 LV4 LY3 MC5 MD2 ME3 MK3 MR5 MT4 MU6 NL4 NO4 PK4
PL8 PS4 PT4 QA4 RO4 RS3 SA2 SC6 SE3 SI5 SK4 ST4 SV4 TL3 TN2 TR5 UA6 VA3 VG4 XK4"""
# In these countries a check letter precedes the bank code.
_AFTER_A_LETTER = {"IT": 5, "SM": 5}


@cache
def countries() -> Mapping[str, str]:
    """The English names of all countries by code; the service takes a country by its name."""
    names: dict[str, str] = json.loads(Path(__file__).with_name("countries.json").read_text(encoding="utf-8"))
    return MappingProxyType(names)


def pasted(number: str) -> AccountNumber:
    """Normalize a pasted account number: drop the word IBAN before it, and replace all blanks by single spaces."""
    # NFKC: Asian keyboards write digits in a wide form.
    return AccountNumber(_WORD.sub("", " ".join(normalize("NFKC", unjoined(number)).split()), count=1))


def is_account_number(number: str) -> bool:
    """Whether a pasted number has the form of an account number."""
    return len(number) <= MAX_ACCOUNT_NUMBER and _FORM.fullmatch(number) is not None


def begins_like_iban(number: str) -> bool:
    """Whether a number begins like an IBAN, valid or not: two letters and two digits, without regard to separators."""
    return _LIKE_IBAN.match(compact(number)) is not None


def iban_of(number: str) -> AccountNumber | None:
    """The IBAN without separators; None if the number is not an IBAN, or its check digits are wrong."""
    iban = compact(number)
    if _IBAN.fullmatch(iban) is None:
        return None
    # ISO 13616: letters count from 10, and the country with its check digits goes to the end.
    digits = AccountNumber("".join(str(int(char, 36)) for char in iban[4:] + iban[:4]))
    return iban if int(digits) % 97 == 1 else None


def bank_in_iban(iban: str) -> str:
    """The country and the bank's code that an IBAN names, such as "Germany, 37040044"."""
    lengths = {code[:2]: int(code[2:]) for code in re.findall(r"\w+", _CODES)}
    country, start = iban[:2], 4 + (iban[:2] in _AFTER_A_LETTER)
    code = iban[start : start + (lengths | _AFTER_A_LETTER).get(country, 0)]
    return ", ".join(filter(None, (countries().get(country, country), code)))


def compact(number: str) -> AccountNumber:
    """A number without separators, in capitals."""
    return AccountNumber("".join(filter(str.isalnum, number)).upper())


def last_digits(number: str) -> str:
    """The last digits of an account number, never more than a third of it; empty for a very short one."""
    whole = compact(number)
    return whole[len(whole) - min(_SHOWN, len(whole) // 3) :]
