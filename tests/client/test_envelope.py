from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.client import Invalid
from flask_paycheckout.client.envelope import Unreadable, data_of, envelope_of, status_code_of
from tests.client.wire import Script, Shop, refusal

BOMB = 100_000


def data_in(body: bytes) -> Any:
    envelope = envelope_of(body)
    status_code_of(envelope)
    return data_of(envelope)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html><body>502 Bad Gateway</body></html>", id="html"),
        pytest.param(b'{"statusCode":200,"data":{}', id="cut-off"),
        pytest.param(b'\xef\xbb\xbf{"statusCode":200,"data":{}}', id="byte-order-mark"),
        pytest.param(b'{"statusCode":200,"data":{"a":"\xff"}}', id="invalid-utf-8"),
        pytest.param(b'{"statusCode":true,"data":{}}', id="bool-status-code"),
        pytest.param(b'{"statusCode":' + b"2" * 5000 + b',"data":{}}', id="huge-status-code"),
        pytest.param(b'{"statusCode":302,"data":{}}', id="302"),
        pytest.param(b'{"statusCode":200,"data":null}', id="null-data"),
        pytest.param(b'{"statusCode":500,"statusCode":200,"data":{}}', id="two-status-codes"),
        pytest.param(b'{"statusCode":200,"data":{"amount":1,"amount":2}}', id="two-amounts"),
        pytest.param(b'{"statusCode":200,"data":' + b"[" * BOMB + b"]" * BOMB + b"}", id="deep-lists"),
    ],
)
def test_anything_else_is_unreadable_at_once(body: bytes) -> None:
    start = time.monotonic()
    with pytest.raises(Unreadable):
        data_in(body)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12.50", Decimal("12.50")),
        ("1e3", Decimal("1E+3")),
        ("-0.0", Decimal("-0.0")),
        ("7", 7),
        (
            "123456789012345678901234567890.123456789012345678",
            Decimal("123456789012345678901234567890.123456789012345678"),
        ),
        ("NaN", None),
        ("1e400", None),
        ("1E999999999999999999999999", None),
        ("1e" + "0" * 200 + "1", None),
        ("9" * 100_000, None),
    ],
)
def test_numbers_are_exact_or_nothing(text: str, value: object) -> None:
    data = data_in(b'{"statusCode":200,"data":{"n":%s}}' % text.encode())
    assert isinstance(data, dict)
    assert data["n"] == value
    assert str(data["n"]) == str(value)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, None),
        ("", None),
        ({"a": 1}, None),
        ([], None),
        (["amount must be positive", 3, "currency is empty"], "amount must be positive; currency is empty"),
    ],
)
def test_odd_error_texts_are_still_refusals(value: object, read: str | None) -> None:
    with pytest.raises(Invalid) as caught:
        Shop(Script(refusal(400, value, value))).deposits.get("x")
    assert caught.value.message == read
    assert caught.value.error == read
