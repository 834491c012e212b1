from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from flask_paycheckout.totals import Pay, Receive
from tests.client.samples import DEPOSIT
from tests.client.wire import Script, Shop, steady, success

MONEY = st.decimals(min_value=Decimal("1e-18"), max_value=Decimal("1e20"), places=18, allow_nan=False)


def test_an_estimate_is_asked_for_a_whole_number() -> None:
    script = Script(success({"token": "usdc-polygon", "amount": 5, "fee": 0.51}))
    crypto = Shop(script).crypto_disbursements
    for amount in ("1E+3", Decimal("5.00")):
        crypto.estimate("usdc-polygon", amount)
    assert [request.url.params["amount"] for request in script.requests] == ["1000", "5"]
    with pytest.raises(ValueError, match="whole number"):
        crypto.estimate("usdc-polygon", "5.5")


@settings(steady, max_examples=25)
@given(MONEY)
def test_amounts_round_trip_through_whole_calls(amount: Decimal) -> None:
    script = Script(success({"id": "c", "url": "https://pay/c"}))
    Shop(script).checkouts.create(Pay(amount, "usdc-polygon"))
    Shop(script).checkouts.create(Receive(amount, "usdc-polygon", pay_in="USD"))
    for request, side in zip(script.requests, ("inputAmount", "outputAmount"), strict=True):
        assert json.loads(request.content, parse_float=Decimal, parse_int=Decimal)[side] == amount
        number = request.content.split(f'"{side}":'.encode())[1].rstrip(b"}")
        body = success(DEPOSIT).replace(b'"inputAmount": 12.5', b'"inputAmount": ' + number)
        assert Shop(Script(body)).deposits.get("c").input_amount == amount
