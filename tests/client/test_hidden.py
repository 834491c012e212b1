from __future__ import annotations

import json
import pickle
import time

import pytest
from hypothesis import given, strategies as st
from markupsafe import Markup

from flask_paycheckout.client import FiatItem, Invalid, NewRecipient, PayoutBank
from flask_paycheckout.client.hidden import AccountNumber, Hidden, hidden_in, hide
from flask_paycheckout.client.sending import _encode
from flask_paycheckout.totals import Pay
from tests.client.wire import Script, Shop, refusal, steady, success


@pytest.mark.parametrize("kind", [Hidden, AccountNumber])
def test_a_hidden_string_is_a_string_that_repr_does_not_show(kind: type[Hidden]) -> None:
    value = kind("canary")
    assert value == "canary"
    assert hash(value) == hash("canary")
    assert f"{value}" == "canary"
    assert repr([value]) == "['***']"
    twin = pickle.loads(pickle.dumps(value))  # noqa: S301
    assert (type(twin), twin) == (kind, "canary")
    assert json.dumps({"a": value}) == '{"a": "canary"}'


def test_it_is_sent_like_any_other_and_nothing_else_slips_through() -> None:
    assert _encode({"a": Hidden("x")}) == b'{"a":"x"}'
    with pytest.raises(TypeError, match="object is no JSON"):
        _encode({"a": object()})


def test_a_string_of_any_class_is_sent_as_a_string() -> None:
    script = Script(success({"id": "chk-1", "url": "https://pay.example/chk-1"}))
    Shop(script).checkouts.create(Pay(5, Markup("USD")))
    assert json.loads(script.requests[0].content) == {"inputCurrency": "USD", "inputAmount": 5}
    with pytest.raises(Invalid, match=r"\*\*\* is wrong"):
        Shop(Script(refusal(400, message="canary is wrong"))).auth.login("a@b.c", Markup("canary"))


@steady
@given(st.text("abc", max_size=12), st.text("abc", min_size=1, max_size=4), st.text("abc", max_size=12))
def test_no_secret_is_left(before: str, secret: str, after: str) -> None:
    assert secret not in hide(before + secret + after, [secret])


@pytest.mark.parametrize("said", ["DE89 3704 0044 0532 0130 00", "de89-3704-0044-0532-0130-00", "370400440532013000"])
def test_an_account_number_is_hidden_in_any_spelling(said: str) -> None:
    secrets = list(hidden_in({"bank": [{"iban": AccountNumber("DE89370400440532013000")}]}))
    assert hide(f"{said} is closed", secrets) == "*** is closed"


def test_a_long_refusal_of_a_large_batch_takes_no_longer_than_a_short_one() -> None:
    accounts = [
        PayoutBank(bank_name="b", bank_code="c", account_name="d", account_number=f"{n:012}") for n in range(500)
    ]
    items = [FiatItem(amount=1, recipient=NewRecipient(bank=bank)) for bank in accounts]
    begun = time.monotonic()
    with pytest.raises(Invalid):
        Shop(Script(refusal(400, message="0 " * 500_000))).fiat_disbursements.create("USD", items)
    assert time.monotonic() - begun < 10
