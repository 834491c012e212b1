"""Payment methods of deposits and rates of conversion, as they are enabled for an account; fees and limits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal
from typing import NamedTuple, TypeVar

from msgspec.structs import replace
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.wire.envelope import Record
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.money import EXACT, rounded, rows_of, share_of

BANK_TRANSFER, QR, CRYPTO = "bank_transfer", "qr", "crypto"


class PaymentMethod(Record):
    """A way to pay in one currency, in which its fees and limits are."""

    code: str
    name: str
    group: str
    currency: str
    flat_fee_amount: Decimal
    percent_fee_amount: Decimal
    min_amount: Decimal
    max_amount: Decimal
    """Limits of the amount paid, where it has any."""
    token: str | None
    """The token id that is sent on the chain; None unless the group is crypto."""
    token_rate: Decimal
    """Units of that token per unit of the method's currency."""
    enabled: bool


def payment_methods(table: str) -> tuple[PaymentMethod, ...]:
    """Payment methods from a table.

    Its columns are code, name, group, currency; flat fee, percentage and, where there are any, the limits; the token
    with its rate; and whether it is enabled.
    """
    return tuple(_method(*row) for row in rows_of(table))


def _method(code: str, name: str, group: str, currency: str, amounts: str, chain: str, state: str) -> PaymentMethod:
    flat, percent, *limits = map(Decimal, amounts.split())
    least, most = limits or (Decimal(0), Decimal(0))
    token, _, rate = chain.partition(" ")
    money = flat, percent, least, most
    return PaymentMethod(code, name, group, currency, *money, token or None, Decimal(rate or 1), state == "on")


METHODS = {
    method.code: method
    for method in payment_methods("""
us_bank_transfer  | US bank transfer | bank_transfer | USD          | 0.50 0.8 1 50000       |                     | on
us_qr             | Scan to pay      | qr            | USD          | 0.10 1.2 1 2500        |                     | on
us_usdc_polygon   | USDC on Polygon  | crypto        | USD          | 0.05 0.4 1 100000      | usdc-polygon 1      | on
us_wire           | US wire          | bank_transfer | USD          | 15 0 1000 1000000      |                     | off
sepa_transfer     | SEPA transfer    | bank_transfer | EUR          | 0.35 0.5 1 50000       |                     | on
eu_qr             | Scan to pay      | qr            | EUR          | 0.10 0.9 1 3000        |                     | on
eu_usdc_stellar   | USDC on Stellar  | crypto        | EUR          | 0.02 0.4 1 90000       | usdc-stellar 1.0815 | on
uk_faster_payment | Faster payment   | bank_transfer | GBP          | 0.30 0.5 1 40000       |                     | on
uk_qr             | Scan to pay      | qr            | GBP          | 0.10 0.9 1 2000        |                     | on
jp_bank_transfer  | Bank transfer    | bank_transfer | JPY          | 110 0.3 100 5000000    |                     | on
jp_qr             | Scan to pay      | qr            | JPY          | 0 1.98 1 300000        |                     | on
id_bank_transfer  | Virtual account  | bank_transfer | IDR          | 4000 0 10000 500000000 |                     | on
id_qris           | QRIS             | qr            | IDR          | 0 0.7 1000 10000000    |                     | on
kw_bank_transfer  | Bank transfer    | bank_transfer | KWD          | 0.150 0.35 0.500 15000 |                     | on
polygon_usdc      | Polygon wallet   | crypto        | usdc-polygon | 0.02 0.3 1 100000      | usdc-polygon 1      | on
tron_usdt         | Tron wallet      | crypto        | usdt-tron    | 1 0.3 5 100000         | usdt-tron 1         | on
ethereum_eth      | Ethereum wallet  | crypto        | eth-ethereum | 0.0004 0.3 0.001 50    | eth-ethereum 1      | on
""")
}
"""The methods by code, in the order of the hosted page."""


class Conversion(Record):
    """A pair of currencies, and units of the second per unit of the first."""

    input_currency: str
    output_currency: str
    rate: Decimal
    enabled: bool

    @property
    def code(self) -> str:
        return f"{self.input_currency}-{self.output_currency}"


_CONVERSIONS = (
    Conversion(paid, received, Decimal(rate), state == "on")
    for paid, received, rate, state in rows_of("""
EUR          | USD          | 1.0815    | on
EUR          | usdc-polygon | 1.0799    | on
GBP          | USD          | 1.2704    | on
IDR          | USD          | 0.0000613 | on
IDR          | usdc-polygon | 0.0000612 | on
JPY          | USD          | 0.00667   | on
KWD          | USD          | 3.2551    | on
USD          | EUR          | 0.9217    | on
USD          | eth-ethereum | 0.000371  | off
USD          | usdc-polygon | 0.9985    | on
USD          | usdc-stellar | 0.9985    | on
usdc-polygon | USD          | 0.9979    | on
""")
)
CONVERSIONS = {conversion.code: conversion for conversion in _CONVERSIONS}


Switched = TypeVar("Switched", PaymentMethod, Conversion)


def as_switched(session: Session, user_id: str, offered: Iterable[Switched]) -> list[Switched]:
    """These methods or conversions, each enabled for the account or not."""
    switched = session.get_one(Account, user_id).switched
    return [replace(item, enabled=switched.get(item.code, item.enabled)) for item in offered]


def enabled_methods(session: Session, user_id: str, currency: str) -> list[PaymentMethod]:
    """The methods for a currency that are enabled for the account, in the order of the hosted page."""
    offered = (method for method in METHODS.values() if method.currency == currency)
    return [method for method in as_switched(session, user_id, offered) if method.enabled]


def find_rate(session: Session, user_id: str, input_currency: str, output_currency: str) -> Decimal | None:
    """Units received per unit paid; None when the pair is not enabled for the account."""
    if input_currency == output_currency:
        return Decimal(1)
    pair = CONVERSIONS.get(f"{input_currency}-{output_currency}")
    if pair is None:
        return None
    (switched,) = as_switched(session, user_id, [pair])
    return switched.rate if switched.enabled else None


class Quote(NamedTuple):
    """An amount paid, the fee included in it (both in the input currency), and the amount received."""

    input_amount: Decimal
    fee_amount: Decimal
    output_amount: Decimal


def quote_paying(method: PaymentMethod, output_currency: str, rate: Decimal, amount: Decimal) -> Quote:
    """Quote for a customer who pays exactly `amount`. The fee is at most the amount; then nothing is received."""
    share = share_of(amount, method.percent_fee_amount)
    paid, fee = (rounded(value, method.currency) for value in (amount, EXACT.add(method.flat_fee_amount, share)))
    fee = min(fee, paid)
    net = amount if assumption("deposit_fee") == "billed" else EXACT.subtract(amount, fee)
    return Quote(paid, fee, rounded(EXACT.multiply(net, rate), output_currency, rounding=ROUND_DOWN))


def quote_receiving(method: PaymentMethod, output_currency: str, rate: Decimal, amount: Decimal) -> Quote:
    """Quote for receiving exactly `amount`."""
    net = rounded(EXACT.divide(amount, rate), method.currency)
    share_left = EXACT.subtract(Decimal(1), share_of(Decimal(1), method.percent_fee_amount))
    paid = rounded(EXACT.divide(EXACT.add(net, method.flat_fee_amount), share_left), method.currency)
    return Quote(paid, EXACT.subtract(paid, net), rounded(amount, output_currency))
