"""`GET /v1/disbursement/crypto/estimate`: the fee that a disbursement would be charged."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import WALLET, Payer

PATH = "/v1/disbursement/crypto/estimate"


@pytest.mark.rule("An estimate tells token, amount and the fee that sending it would have.")
def test_it_is_what_sending_costs(payer: Payer) -> None:
    estimate = payer.reads(f"{PATH}?token=usdc-polygon&amount=7").data
    sent = payer.sends_tokens({"receiverWalletAddress": WALLET, "amount": 7}).data["disburseData"][0]
    assert estimate == {"token": "usdc-polygon", "amount": 7, "fee": sent["feeAmount"]}
    assert estimate["fee"] == Decimal("0.124")


@pytest.mark.rule("An estimate is asked for with a token and an amount, which is a whole number unless told otherwise.")
@pytest.mark.parametrize(
    ("query", "field"),
    [
        pytest.param("amount=7", "token", id="no-token"),
        pytest.param("token=doge-moon&amount=7", "token", id="unknown-token"),
        pytest.param("token=usdc-polygon", "amount", id="no-amount"),
        pytest.param("token=usdc-polygon&amount=0", "amount", id="zero"),
        pytest.param("token=usdc-polygon&amount=seven", "amount", id="no-number"),
        pytest.param("token=usdc-polygon&amount=7.5", "amount", id="fraction"),
    ],
)
def test_a_wrong_query_is_refused_naming_the_parameter(payer: Payer, query: str, field: str) -> None:
    refused = payer.reads(f"{PATH}?{query}")
    assert (refused.code, refused.message.split()[0]) == (400, field)


def test_unknown_estimate_amount_decimal(make_sandbox: MakeSandbox) -> None:
    payer = Payer(make_sandbox(estimate_amount="decimal"))
    assert payer.reads(f"{PATH}?token=usdc-polygon&amount=7.5").data["fee"] == Decimal("0.125")
    assert payer.reads(f"{PATH}?token=usdc-polygon&amount=0.0000001").code == 400
