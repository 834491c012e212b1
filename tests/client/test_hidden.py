from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given, strategies as st

from flask_paycheckout.client.hidden import AccountNumber, Hidden, hidden_in, hide
from flask_paycheckout.client.sending import _encode
from tests.client.wire import steady


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


@steady
@given(st.text("abc", max_size=12), st.text("abc", min_size=1, max_size=4), st.text("abc", max_size=12))
def test_no_secret_is_left(before: str, secret: str, after: str) -> None:
    assert secret not in hide(before + secret + after, [secret])


@pytest.mark.parametrize("text", ["DE89 3704 0044 0532 0130 00", "de89-3704-0044-0532-0130-00", "370400440532013000"])
def test_an_account_number_is_hidden_in_any_spelling(text: str) -> None:
    secrets = list(hidden_in({"bank": [{"iban": AccountNumber("DE89370400440532013000")}]}))
    assert hide(f"{text} is closed", secrets) == "*** is closed"
