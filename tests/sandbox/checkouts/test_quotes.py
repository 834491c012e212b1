"""The fee formulas: exact, rounded where the docstring says so, and agreeing with each other."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.checkouts.methods import QR, PaymentMethod, quote_paying, quote_receiving
from flask_paycheckout.sandbox.world.money import unit_of

CURRENCIES = ("USD", "JPY", "KWD", "usdc-polygon", "eth-ethereum")
Terms = tuple[PaymentMethod, str, Decimal]
"""A method, the received currency, and the rate."""


@pytest.fixture(autouse=True)
def _with_default_switches() -> Iterator[None]:
    with create_sandbox().app_context():
        yield


@st.composite
def terms(draw: st.DrawFn) -> Terms:
    paid = draw(st.sampled_from(CURRENCIES))
    received = draw(st.sampled_from((paid, *CURRENCIES)))
    flat = draw(st.integers(0, 500)) * unit_of(paid)
    percent = Decimal(draw(st.integers(0, 999))) / 100
    rate = Decimal(1) if paid == received else Decimal(draw(st.integers(1, 10**8))) / 10**5
    limits = Decimal(0), Decimal(0)
    return PaymentMethod("m", "Any", QR, paid, flat, percent, *limits, None, Decimal(1), True), received, rate


@settings(deadline=None)
@given(terms=terms(), units=st.integers(1, 10**15))
def test_the_paid_amount_is_the_received_amount_and_the_fee(terms: Terms, units: int) -> None:
    method, received, rate = terms
    paid = units * unit_of(method.currency)
    quote = quote_paying(*terms, paid)
    fee = Fraction(method.flat_fee_amount) + Fraction(paid) * Fraction(method.percent_fee_amount) / 100
    assert quote.input_amount == paid
    if fee <= paid:
        assert fee <= Fraction(quote.fee_amount) < fee + Fraction(unit_of(method.currency))
    else:
        assert quote.fee_amount == paid
    left = (Fraction(paid) - Fraction(quote.fee_amount)) * Fraction(rate)
    assert 0 <= left - Fraction(quote.output_amount) < Fraction(unit_of(received))
    if method.currency == received:
        assert quote.input_amount == quote.output_amount + quote.fee_amount


@settings(deadline=None)
@given(terms=terms(), units=st.integers(1, 10**15))
def test_paying_what_receiving_costs_gives_what_was_asked_and_no_cheaper_payment_does(terms: Terms, units: int) -> None:
    method, received, _ = terms
    amount_received = units * unit_of(received)
    quote = quote_receiving(*terms, amount_received)
    assert quote.output_amount == amount_received
    paying = quote_paying(*terms, quote.input_amount)
    assert paying.fee_amount == quote.fee_amount
    assert paying.output_amount >= amount_received
    cheaper = Context(prec=60).subtract(quote.input_amount, unit_of(method.currency))
    if cheaper > 0:
        assert quote_paying(*terms, cheaper).output_amount < amount_received
