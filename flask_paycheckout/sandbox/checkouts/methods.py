"""Payment methods of deposits and rates of conversion, as they are enabled for an account; fees and limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from typing import NamedTuple, TypeVar

from sqlalchemy import ForeignKey, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.money.currencies import EXACT, rounded
from flask_paycheckout.sandbox.world.database import Table

BANK_TRANSFER, QR, CRYPTO = "bank_transfer", "qr", "crypto"


@dataclass(frozen=True)
class PaymentMethod:
    """A way to pay in one currency, in which its fees and limits are."""

    code: str
    name: str
    group: str
    currency: str
    flat_fee: Decimal
    percent_fee: Decimal
    min_amount: Decimal
    max_amount: Decimal
    """Limits of the amount paid, where it has any."""
    token: str | None
    """The token id that is sent on the chain; None unless the group is crypto."""
    token_rate: Decimal
    """Units of that token per unit of the method's currency."""
    enabled: bool


def payment_method(
    code: str,
    name: str,
    group: str,
    currency: str,
    amounts: str,
    token: str | None = None,
    *,
    token_rate: str = "1",  # noqa: S107 - a rate of exchange
    enabled: bool = True,
) -> PaymentMethod:
    """A payment method.

    :param amounts: flat fee, percentage, and the limits where there are any.
    """
    flat, percent, *limits = map(Decimal, amounts.split())
    least, most = limits or (Decimal(0), Decimal(0))
    chain = token, Decimal(token_rate)
    return PaymentMethod(code, name, group, currency, flat, percent, least, most, *chain, enabled)


METHODS = {
    method.code: method
    for method in (
        payment_method("us_bank_transfer", "US bank transfer", BANK_TRANSFER, "USD", "0.50 0.8 1 50000"),
        payment_method("us_qr", "Scan to pay", QR, "USD", "0.10 1.2 1 2500"),
        payment_method("us_usdc_polygon", "USDC on Polygon", CRYPTO, "USD", "0.05 0.4 1 100000", "usdc-polygon"),
        payment_method("us_wire", "US wire", BANK_TRANSFER, "USD", "15 0 1000 1000000", enabled=False),
        payment_method("sepa_transfer", "SEPA transfer", BANK_TRANSFER, "EUR", "0.35 0.5 1 50000"),
        payment_method("eu_qr", "Scan to pay", QR, "EUR", "0.10 0.9 1 3000"),
        payment_method(
            *("eu_usdc_stellar", "USDC on Stellar", CRYPTO, "EUR", "0.02 0.4 1 90000", "usdc-stellar"),
            token_rate="1.0815",  # noqa: S106
        ),
        payment_method("uk_faster_payment", "Faster payment", BANK_TRANSFER, "GBP", "0.30 0.5 1 40000"),
        payment_method("uk_qr", "Scan to pay", QR, "GBP", "0.10 0.9 1 2000"),
        payment_method("jp_bank_transfer", "Bank transfer", BANK_TRANSFER, "JPY", "110 0.3 100 5000000"),
        payment_method("jp_qr", "Scan to pay", QR, "JPY", "0 1.98 1 300000"),
        payment_method("id_bank_transfer", "Virtual account", BANK_TRANSFER, "IDR", "4000 0 10000 500000000"),
        payment_method("id_qris", "QRIS", QR, "IDR", "0 0.7 1000 10000000"),
        payment_method("kw_bank_transfer", "Bank transfer", BANK_TRANSFER, "KWD", "0.150 0.35 0.500 15000"),
        payment_method("polygon_usdc", "Polygon wallet", CRYPTO, "usdc-polygon", "0.02 0.3 1 100000", "usdc-polygon"),
        payment_method("tron_usdt", "Tron wallet", CRYPTO, "usdt-tron", "1 0.3 5 100000", "usdt-tron"),
        payment_method(
            "ethereum_eth", "Ethereum wallet", CRYPTO, "eth-ethereum", "0.0004 0.3 0.001 50", "eth-ethereum"
        ),
    )
}
"""The methods by code, in the order of the hosted page."""


@dataclass(frozen=True)
class Conversion:
    """A pair of currencies, and units of the second per unit of the first."""

    input_currency: str
    output_currency: str
    rate: Decimal
    enabled: bool = True

    @property
    def code(self) -> str:
        return f"{self.input_currency}-{self.output_currency}"


CONVERSIONS = {
    conversion.code: conversion
    for conversion in (
        Conversion("EUR", "USD", Decimal("1.0815")),
        Conversion("EUR", "usdc-polygon", Decimal("1.0799")),
        Conversion("GBP", "USD", Decimal("1.2704")),
        Conversion("IDR", "USD", Decimal("0.0000613")),
        Conversion("IDR", "usdc-polygon", Decimal("0.0000612")),
        Conversion("JPY", "USD", Decimal("0.00667")),
        Conversion("KWD", "USD", Decimal("3.2551")),
        Conversion("USD", "EUR", Decimal("0.9217")),
        Conversion("USD", "eth-ethereum", Decimal("0.000371"), enabled=False),
        Conversion("USD", "usdc-polygon", Decimal("0.9985")),
        Conversion("USD", "usdc-stellar", Decimal("0.9985")),
        Conversion("usdc-polygon", "USD", Decimal("0.9979")),
    )
}


class Switch(Table):
    """Whether a payment method or a conversion, named by its code, is enabled for an account after a change."""

    __tablename__ = "switch"

    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id), primary_key=True)
    code: Mapped[str] = mapped_column(primary_key=True)
    enabled: Mapped[bool]


Switched = TypeVar("Switched", PaymentMethod, Conversion)


def as_switched(session: Session, user_id: str, offered: Iterable[Switched]) -> list[Switched]:
    """These methods or conversions, each enabled for the account or not."""
    rows = session.execute(select(Switch.code, Switch.enabled).where(Switch.user_id == user_id))
    switched = {row.code: row.enabled for row in rows}
    return [replace(one, enabled=switched.get(one.code, one.enabled)) for one in offered]


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


class Terms(NamedTuple):
    """Fees and rate of a payment method between two currencies."""

    input_currency: str
    output_currency: str
    flat_fee: Decimal
    percent_fee: Decimal
    rate: Decimal = Decimal(1)


def terms_of(method: PaymentMethod, output_currency: str, rate: Decimal) -> Terms:
    return Terms(method.currency, output_currency, method.flat_fee, method.percent_fee, rate)


class Quote(NamedTuple):
    """An amount paid, the fee included in it (both in the input currency), and the amount received."""

    input_amount: Decimal
    fee_amount: Decimal
    output_amount: Decimal


def quote_paying(terms: Terms, amount: Decimal) -> Quote:
    """Quote for a customer who pays exactly `amount`. The fee is at most the amount; then nothing is received."""
    share = EXACT.multiply(amount, _percentage(terms))
    paid, fee = (rounded(one, terms.input_currency) for one in (amount, EXACT.add(terms.flat_fee, share)))
    fee = min(fee, paid)
    received = EXACT.multiply(EXACT.subtract(amount, fee), terms.rate)
    return Quote(paid, fee, rounded(received, terms.output_currency, rounding=ROUND_DOWN))


def quote_receiving(terms: Terms, amount: Decimal) -> Quote:
    """Quote for receiving exactly `amount`."""
    net = rounded(EXACT.divide(amount, terms.rate), terms.input_currency)
    share_left = EXACT.subtract(Decimal(1), _percentage(terms))
    paid = rounded(EXACT.divide(EXACT.add(net, terms.flat_fee), share_left), terms.input_currency)
    return Quote(paid, EXACT.subtract(paid, net), rounded(amount, terms.output_currency))


def _percentage(terms: Terms) -> Decimal:
    return terms.percent_fee.scaleb(-2, EXACT)
