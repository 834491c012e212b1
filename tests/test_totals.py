"""The total of an order: exact, positive, with no more decimals than its currency, never a float."""

from __future__ import annotations

import time
from decimal import Decimal, localcontext
from enum import Enum
from typing import Any

import pytest

from flask_paycheckout.totals import Pay, Receive, amount_to_type, typed_amount


@pytest.mark.parametrize(
    ("amount", "currency", "kept"),
    [
        pytest.param("12.5", "USD", "12.50", id="padded to cents"),
        pytest.param(12, "USD", "12.00", id="whole number"),
        pytest.param(Decimal("0.01"), "USD", "0.01", id="smallest cent"),
        pytest.param("1.50E+1", "USD", "15.00", id="scientific"),
        pytest.param("1500", "JPY", "1500", id="yen has no decimals"),
        pytest.param(Decimal("12.5000"), "USD", "12.50", id="zeros at the end are no decimals"),
        pytest.param("1500.00", "JPY", "1500", id="nor in yen"),
        pytest.param(f"1.5{'0' * 60}", "USD", "1.50", id="however many"),
        pytest.param("1.234", "KWD", "1.234", id="dinar has three"),
        pytest.param("0.000000000000000001", "usdc-polygon", "0.000000000000000001", id="token with 18 decimals"),
        pytest.param("1E+3", "usdc-polygon", "1000", id="token, scientific"),
        pytest.param("9" * 38 + ".99", "USD", "9" * 38 + ".99", id="forty digits"),
    ],
)
def test_an_amount_is_kept_exactly(amount: Any, currency: str, kept: str) -> None:
    assert f"{Pay(amount, currency).amount:f}" == kept
    assert f"{Receive(amount, currency, pay_in='USD').amount:f}" == kept


def test_a_long_text_that_is_no_number_is_refused_at_once() -> None:
    """A shop may pass on a stranger's input; the time must grow linearly with its length."""
    began = time.process_time()
    with pytest.raises(ValueError, match="is not a decimal number"):
        Pay("1" * 30_000 + "x", "USD")
    assert time.process_time() - began < 3


@pytest.mark.parametrize("amount", [12.5, True, None, b"1", [1], 1j], ids=lambda amount: type(amount).__name__)
def test_an_amount_of_another_type_is_a_type_error_that_says_what_to_write(amount: Any) -> None:
    with pytest.raises(TypeError, match=r"Decimal\('12\.50'\) for an amount in USD"):
        Pay(amount, "USD")
    with pytest.raises(TypeError, match="EUR"):
        Receive(amount, "EUR", pay_in="USD")


@pytest.mark.parametrize(
    "amount",
    [
        "0",
        "0.00",
        "-1",
        "-1E+999999999",
        "0E+999999999",
        "NaN",
        "sNaN",
        "Infinity",
        "-Infinity",
        "twelve",
        "",
        "1e41",
        "1_0",
        "１２",
    ],
)
def test_an_amount_that_is_no_price_is_a_value_error_that_names_the_currency(amount: str) -> None:
    with pytest.raises(ValueError, match="USD") as refused:
        Pay(amount, "USD")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("amount", "currency", "remedy"),
    [("0.001", "USD", "at most 2"), ("1.5", "JPY", "at most 0"), ("1.0001", "KWD", "at most 3")],
)
def test_more_decimals_than_the_currency_has_are_refused_with_the_way_to_round(
    amount: str, currency: str, remedy: str
) -> None:
    with pytest.raises(ValueError, match=rf"{currency} has \(.*{remedy}"):
        Pay(amount, currency)


@pytest.mark.parametrize(
    "amount", ["1." + "0" * 41 + "1", "0." + "0" * 41 + "1", "0." + "0" * 30 + "1" * 30, "9" * 30 + "." + "9" * 30]
)
def test_more_digits_than_can_be_stored_are_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="digits"):
        Pay(amount, "usdc-polygon")


def test_the_callers_decimal_context_changes_no_amount() -> None:
    with localcontext() as context:
        context.prec = 4
        assert Pay("123456.78", "USD").amount == Decimal("123456.78")


@pytest.mark.parametrize("currency", ["usd", "", "US", "DOLLARS", "usdc_polygon", "a" * 25 + "-polygon", "U\nD"])
def test_an_unknown_currency_is_refused(currency: str) -> None:
    with pytest.raises(ValueError, match="currency"):
        Pay("1", currency)
    with pytest.raises(ValueError, match=r"^receive_in '"):
        Pay("1", "USD", receive_in=currency)
    with pytest.raises(ValueError, match=r"^pay_in '"):
        Receive("1", "USD", pay_in=currency)


def test_a_currency_that_is_no_string_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="currency"):
        Pay("1", 840)  # type: ignore[arg-type]  # what it refuses


def test_a_currency_that_the_standard_has_withdrawn_is_one_still() -> None:
    """Payments and refunds in it may be under way, or stored."""
    assert Pay("12.50", "BGN").amount == Decimal("12.50")
    with pytest.raises(ValueError, match="more decimals"):
        Pay("12.505", "BGN")


@pytest.mark.parametrize("nothing", [0, "0.00", Decimal("0E-30")])
def test_a_deposit_of_nothing_asks_for_all_that_is_left(nothing: int | str | Decimal) -> None:
    assert Pay("100", "USD", now=nothing) == Pay("100", "USD", parts=True)
    with pytest.raises(ValueError, match="now -1 in USD is not positive"):
        Pay("100", "USD", now=-1)


def test_a_default_that_is_written_out_is_the_same_total() -> None:
    assert Pay("12.50", "USD", receive_in="USD") == Pay("12.50", "USD")
    assert Pay("12.50", "USD", receive_in="EUR") != Pay("12.50", "USD")


def test_a_currency_of_an_enumeration_is_written_by_its_code() -> None:
    class Money(str, Enum):  # noqa: UP042 - as shops write it for an older Python
        DOLLAR = "USD"
        EURO = "EUR"

    assert str(Pay("12.50", Money.DOLLAR)) == "12.50 USD"
    assert f"{Pay('12.50', 'USD', receive_in=Money.EURO).receive_in}" == "EUR"
    assert str(Receive("12.50", Money.DOLLAR, pay_in=Money.EURO)) == "12.50 USD after the fee, paid in EUR"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("12.50", "12.50"),
        ("12,5", "12.5"),
        (" 1250 ", "1250"),
        ("0,250", "0.250"),
        ("1.2500", "1.2500"),
        ("1250.001", "1250.001"),
    ],
)
def test_a_typed_amount_has_a_comma_or_a_point_before_its_decimals(typed: str, read: str) -> None:
    assert typed_amount(typed) == read


@pytest.mark.parametrize("typed", ["1,250", "1.250", "999.999", "12,000", "", " ", "1e3"])
def test_a_typed_amount_that_may_mean_another_one_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="amount"):
        typed_amount(typed)


@pytest.mark.parametrize("amount", ["1.250", "0.125", "1250.125", "12.50", "3"])
def test_an_amount_shown_for_typing_is_read_as_the_same_amount(amount: str) -> None:
    assert Decimal(typed_amount(amount_to_type(Decimal(amount)))) == Decimal(amount)
