"""The fee of a disbursement, for both kinds:

    fee = flat + network + amount * percentage / 100, rounded up to a whole unit of the currency

in the currency or token that is paid out, charged in addition to the amount. Only the percentage can need rounding, by
less than one unit, in favour of the service, because all other terms are whole units.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from flask_paycheckout.sandbox.money.arithmetic import EXACT, rounded
from flask_paycheckout.sandbox.money.currencies import decimals_of, is_divisible
from flask_paycheckout.sandbox.wire.parsing import FieldError


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


def in_units(field: str, amount: Decimal, currency: str) -> Decimal:
    """The amount with its currency's decimals. An amount with more is refused, not rounded."""
    decimals = decimals_of(currency)
    if decimals is None:
        raise LookupError(f"{currency!r} is no currency the sandbox knows")
    if not is_divisible(amount, decimals):
        raise FieldError(f"{field} has more than the {decimals} decimals of {currency}; round it before sending it.")
    return rounded(amount, currency)
