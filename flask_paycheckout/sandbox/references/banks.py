"""Banks with invented names in real countries. Those that can be paid are the methods of fiat disbursements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flask_paycheckout.sandbox.fiat_disbursements.methods import METHODS
from flask_paycheckout.sandbox.references.countries import COUNTRIES

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
