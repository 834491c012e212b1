"""`GET /v2/payment/quote`: the formulas, the fields, and the required credentials."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from flask_paycheckout.sandbox.payments.quotes import Exchange, exchanged, in_currency, rate_of
from flask_paycheckout.sandbox.world.money import TOKENS, Token, rounded, unit_of
from tests.sandbox.actors import CLIENT_ID, Merchant, Tester, call
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.payments.customers import makes, quotes


def test_a_quote_has_the_fields_of_its_record(merchant: Merchant) -> None:
    quote = quotes(merchant).data
    wallet = quote.pop("payout_wallet")
    assert quote == {
        "status": True,
        "coin": "usdc-polygon",
        "currency": "USD",
        "amount": 100,
        "rate_amount": Decimal("0.9979"),
        "amount_in_currency": Decimal("99.79"),
        "total_fee_percentage": Decimal("0.8"),
        "total_fee_amount": Decimal("0.8"),
        "total_fee_amount_in_currency": Decimal("0.80"),
        "total_received_amount": Decimal("99.2"),
        "total_received_amount_in_currency": Decimal("98.99"),
    }
    assert wallet.startswith("0x")


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    token: Token = draw(st.sampled_from(TOKENS))
    currency = draw(st.sampled_from(token.currencies))
    amount = draw(st.integers(3, 10**30)) * unit_of(token.id)
    rate = rate_of(token, currency)
    assert rate is not None
    return exchanged(token, currency, rate, rounded(amount, token.id))


@settings(deadline=None)
@given(made=exchanges())
def test_amounts_are_what_is_received_and_the_fee_in_both_currencies(made: Exchange) -> None:
    assert Fraction(made.amount) == Fraction(made.total_received_amount) + Fraction(made.total_fee_amount)
    amount_in_currency, fee_in_currency = map(Fraction, in_currency(made).values())
    assert amount_in_currency == Fraction(made.output_amount) + fee_in_currency
    assert fee_in_currency >= 0
    # Rounding is below one unit, and in favour of the service.
    unit, cent = Fraction(unit_of(made.token.id)), Fraction(unit_of(made.currency))
    amount, rate = Fraction(made.amount), Fraction(made.rate_amount)
    assert 0 <= Fraction(made.exchange_fees) - amount * 5 / 1000 < unit
    assert 0 <= Fraction(made.platform_fees) - amount * 3 / 1000 < unit
    assert 0 <= Fraction(made.total_received_amount) * rate - Fraction(made.output_amount) < cent
    assert 0 <= amount * rate - amount_in_currency < cent
    assert Fraction(made.output_amount_exact) == Fraction(made.total_received_amount) * rate


ALONE = {"X-Client-ID": CLIENT_ID}


@pytest.mark.parametrize(
    ("with_limit", "headers", "code"),
    [
        ("true", ALONE, 200),
        ("false", ALONE, 401),
        ("true", ALONE | {"X-Signature": "0" * 64}, 401),
        ("true", {"X-Client-ID": "nobody"}, 401),
    ],
    ids=str,
)
def test_with_limit_the_client_id_alone_is_enough(
    make_sandbox: MakeSandbox, with_limit: str, headers: dict[str, str], code: int
) -> None:
    target = f"/v2/payment/quote?amount=100&inputCurrency=usdc-polygon&outputCurrency=USD&withLimit={with_limit}"
    assert call(make_sandbox(), "GET", target, headers=headers).code == code
    signed = make_sandbox(quote_credentials="signature")
    assert call(signed, "GET", target, headers=headers).code == 401
    assert Merchant(signed).calls("GET", target).code == 200


def test_with_limit_the_status_says_whether_the_day_has_room(merchant: Merchant, tester: Tester) -> None:
    def has_room(amount: int, with_limit: Any = "true") -> Any:
        return quotes(merchant, amount=amount, withLimit=with_limit).data["status"]

    assert (has_room(100_210), has_room(100_211)) == (True, False)
    assert (has_room(500_000, "false"), has_room(500_000, ...)) == (True, True)
    makes(merchant, inputAmount=600)
    assert (has_room(99_610), has_room(99_611)) == (True, False)
    tester.advances(hours=24)
    assert has_room(100_210)
