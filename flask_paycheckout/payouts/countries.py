"""The countries of bank accounts by their ISO 3166 codes, and what an IBAN names: its country and its bank. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

__all__ = ["bank_in_iban", "countries"]

# Where the bank's code stands behind the check digits, from SWIFT's registry of IBANs: its length, by country.
_CODES = """AD4 AE3 AL8 AT5 AZ4 BA3 BE3 BG4 BH4 BR8 BY4 CH5 CR4 CY3 CZ4 DE8 DK4 DO4 EE2 EG4 ES4 FI3 FO4 FR5 GB4 GE2
GI4 GL4 GR3 GT4 HR7 HU3 IE4 IL3 IQ4 IS2 JO4 KW4 KZ3 LB4 LC4 LI5 LT5 LU3 LV4 LY3 MC5 MD2 ME3 MK3 MR5 MT4 MU6 NL4 NO4 PK4
PL8 PS4 PT4 QA4 RO4 RS3 SA2 SC6 SE3 SI5 SK4 ST4 SV4 TL3 TN2 TR5 UA6 VA3 VG4 XK4"""
# In these countries a check letter comes first.
_AFTER_A_LETTER = {"IT": 5, "SM": 5}


@cache
def countries() -> Mapping[str, str]:
    """The English names of all countries by code; the service takes a country by its name."""
    listed: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return MappingProxyType(listed)


def bank_in_iban(iban: str) -> str:
    """The country and the bank's code that an IBAN names, such as "Germany, 37040044"."""
    lengths = {code[:2]: int(code[2:]) for code in re.findall(r"\w+", _CODES)}
    country, start = iban[:2], 4 + (iban[:2] in _AFTER_A_LETTER)
    code = iban[start : start + (lengths | _AFTER_A_LETTER).get(country, 0)]
    return ", ".join(filter(None, (countries().get(country, country), code)))
