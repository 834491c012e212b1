"""The fee of a disbursement, for both kinds:

    fee = flat + network + amount * percentage / 100, rounded up to a whole unit of the currency

in the currency or token that is paid out, charged in addition to the amount. Only the percentage can need rounding, by
less than one unit, in favour of the service, because all other terms are whole units.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from flask_paycheckout.sandbox.money.currencies import EXACT, rounded


@dataclass(frozen=True)
class FeeTerms:
    """The fees of one transfer; `network` is the chain's fee, 0 for a bank."""

    flat: Decimal
    percentage: Decimal
    network: Decimal = Decimal(0)


def fee_of(terms: FeeTerms, amount: Decimal, currency: str) -> Decimal:
    share = EXACT.multiply(amount, terms.percentage.scaleb(-2, EXACT))
    return rounded(EXACT.add(EXACT.add(terms.flat, terms.network), share), currency)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Sum amounts exactly."""
    result = Decimal(0)
    for amount in amounts:
        result = EXACT.add(result, amount)
    return result
