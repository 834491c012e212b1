"""`GET /v1/disbursement/fiat/payment-method`: which banks can be paid, within which limits, at what price."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from tests.sandbox.disbursements.payers import Payer

PATH = "/v1/disbursement/fiat/payment-method"


@pytest.mark.rule("A bank that can be paid has a code in lower-case words, limits and fees.")
def test_every_method_has_limits_and_fees(payer: Payer) -> None:
    methods = payer.sends("GET", PATH).data
    for method in methods:
        assert set(method) == {
            *("currency", "bankCode", "bankName", "minAmount", "maxAmount", "feeFlat", "feePercentage"),
        }
        assert 0 < method["minAmount"] < method["maxAmount"]
        assert re.fullmatch("[a-z]+(_[a-z]+)+", method["bankCode"])
    assert len({method["bankCode"] for method in methods}) == len(methods)


@pytest.mark.rule("All banks are listed, or those of one currency.")
def test_the_currency_filters(payer: Payer) -> None:
    methods = payer.sends("GET", f"{PATH}?currency=KWD").data
    assert [method["bankCode"] for method in methods] == ["kw_al_marsa"]
    assert methods[0]["feeFlat"] == Decimal("0.150")
    assert payer.sends("GET", f"{PATH}?currency=CHF").data == []


@pytest.mark.parametrize("currency", ["usd", "XXX", "usdc-polygon", "DOLLARS"])
def test_what_is_no_currency_is_refused(payer: Payer, currency: str) -> None:
    refused = payer.sends("GET", f"{PATH}?currency={currency}")
    assert (refused.code, refused.message.split()[0]) == (400, "currency")
