"""`POST /v1/checkout`: fields, limits, conversions and errors of the interface."""

from __future__ import annotations

from decimal import Decimal

import pytest

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import Merchant, Tester

AMOUNTS = (b"null", b"0", b"-5", b'"12.5"', b"true", b"[12]", b"NaN", b"1e400", b"9" * 6000)


@pytest.mark.parametrize(
    "body",
    [
        b'{"inputCurrency":"USD","inputAmount":12.5,"outputAmount":12}',
        b'{"inputCurrency":"USD"}',
        *(b'{"inputCurrency":"USD","inputAmount":%s}' % amount for amount in AMOUNTS),
        b'{"inputAmount":12.5}',
        *(b'{"inputCurrency":%s,"inputAmount":12.5}' % code for code in (b"840", b'"usd"', b'"XAU"')),
        b'{"inputCurrency":"USD","inputAmount":12.5,"outputCurrency":"doge-moon"}',
        b'[{"inputCurrency":"USD","inputAmount":12.5}]',
        *(b"", b"{", b"\xff\xfe{}", b'{"a":' * 100_000),
    ],
    ids=lambda body: body[-40:].decode("latin-1"),
)
def test_an_invalid_checkout_is_refused_with_the_error_envelope(merchant: Merchant, body: bytes) -> None:
    refused = merchant.asks_checkout_raw(body)
    assert (refused.http_status, refused.code, refused.body["error"]) == (400, 400, "Bad Request")
    assert set(refused.body) == {"statusCode", "error", "message"}


@pytest.mark.parametrize(
    ("side", "refused", "taken", "too_much"),
    [
        ("inputAmount", 0.99, (1, 100_000), 100_000.01),
        # Receiving 99,600 costs 99,600 + 0.05 + 0.4 %, just above the 100,000 of the method with the highest limit.
        ("outputAmount", 0.01, (99_599,), 99_601),
    ],
)
def test_some_enabled_method_must_take_what_the_customer_pays(
    merchant: Merchant, side: str, refused: float, taken: tuple[int, ...], too_much: float
) -> None:
    def code(amount: float) -> int:
        return merchant.asks_checkout(inputCurrency="USD", **{side: amount}).code

    assert (code(refused), code(too_much)) == (400, 400)
    assert {code(amount) for amount in taken} == {200}
    assert merchant.asks_checkout(inputCurrency="CHF", inputAmount=20).code == 400, "a currency nobody pays in"


def test_an_account_without_checkout_is_told_so(merchant: Merchant, tester: Tester) -> None:
    tester.does("POST", "accounts/default/switches", {"checkoutEnabled": False})
    refused = merchant.asks_checkout()
    assert refused.body == {"statusCode": 400, "error": "Bad Request", "message": "Checkout is not enabled"}


@pytest.mark.on_each_database
def test_a_pair_without_conversion_is_refused(merchant: Merchant, tester: Tester) -> None:
    pair = {"inputCurrency": "USD", "outputCurrency": "eth-ethereum"}
    assert merchant.asks_checkout(**pair, inputAmount=50).code == 400
    tester.does("POST", "accounts/default/switches", {"conversions": [pair | {"enabled": True}]})
    assert merchant.asks_checkout(**pair, inputAmount=50).code == 200


@pytest.mark.on_each_database
def test_amounts_stay_exact(merchant: Merchant, tester: Tester) -> None:
    answer = merchant.asks_checkout_raw(b'{"inputCurrency":"eth-ethereum","inputAmount":1.000000000000000001}')
    assert tester.picks(answer.data["id"])["inputAmount"] == Decimal("1.000000000000000001")


def test_the_host_of_the_hosted_page_is_that_of_the_environment() -> None:
    app = create_sandbox(base_url="http://pay.localhost:9999/of/us/")
    answer = Merchant(app).asks_checkout()
    assert answer.data["url"] == f"http://pay.localhost:9999/of/us/checkout/{answer.data['id']}"
