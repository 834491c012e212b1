"""Numbers of the service that are too long to be money."""

from __future__ import annotations

import pytest

from tests.scripted import Shop, number


@pytest.mark.parametrize(
    "amount",
    ["12.5" + "0" * 120, "125" + "0" * 120 + "e-121", "9" * 5000, "1e" + "9" * 18, "12.50e" + "0" * 4000],
    ids=["zeros behind", "zeros and an exponent", "digits", "exponent", "digits of the exponent"],
)
def test_a_number_too_long_to_be_money_is_held_for_a_person(shop: Shop, amount: str) -> None:
    """Such a number is not accepted, although some of them equal 12.50, and the payment is not lost either."""
    checkout_id = shop.starts()
    assert shop.settles(checkout_id, "completed", inputAmount=number(amount)).status == "held"
