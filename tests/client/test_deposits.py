from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_paycheckout.client import (
    Activity,
    Deposit,
    ExchangeInfo,
    Fee,
    Invalid,
    NotFound,
    OutcomeUnknown,
    PaymentFiat,
    ServiceFault,
    TransportFailed,
)
from tests.client.wire import DEPOSIT, Script, Shop, refusal, steady, success

WHOLE = Deposit(
    deposit_id="chk_1",
    status="completed",
    deposit_type="checkout",
    user_id="u1",
    input_currency="USD",
    output_currency="usdc-polygon",
    input_amount=Decimal("12.5"),
    output_amount=Decimal("12.1"),
    fee=Fee(Decimal("0.4"), Decimal(3), "USD"),
    payment_fiat=PaymentFiat("first_bank", "First Bank", "QR"),
    payment_crypto={"network": "polygon", "hops": [1, {"a": None}]},
    activity_history=(Activity("Paid", "by bank", "completed", datetime(2026, 1, 1, 10, tzinfo=UTC)),),
    exchange_info=ExchangeInfo(Decimal("0.97"), "usdc-polygon", Decimal("12.1")),
    created_at=datetime(2026, 1, 1, 9, tzinfo=UTC),
    updated_at=datetime(2026, 1, 1, 10, tzinfo=UTC),
    expired_at=datetime(2026, 1, 1, 9, 15, tzinfo=UTC),
)


def read(**changed: Any) -> Deposit:
    return Shop(Script(success({**DEPOSIT, **changed})), count=0).deposits.get("chk_1")


def test_every_field_is_read() -> None:
    script = Script(success({**DEPOSIT, "surprise": {"a": [1]}}))
    deposit = Shop(script).deposits.get("chk_1")
    assert deposit == WHOLE
    assert pickle.loads(pickle.dumps(deposit)) == WHOLE  # noqa: S301
    assert (script.requests[0].method, script.requests[0].url.raw_path) == ("GET", b"/v1/deposit/chk_1")


def test_only_id_and_status_are_certain() -> None:
    body = success({"depositId": "chk_1", "status": "pending"})
    assert Shop(Script(body)).deposits.get("chk_1") == Deposit("chk_1", "pending")


def test_a_deposit_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        WHOLE.status = "pending"  # type: ignore[misc]


NOT_NUMBERS = ["12.5", "", True, False, None, [12.5], {"amount": 12.5}, float("nan"), float("inf")]


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
@pytest.mark.parametrize(("wire", "field"), [("inputAmount", "input_amount"), ("outputAmount", "output_amount")])
def test_only_a_json_number_is_money(wire: str, field: str, value: object) -> None:
    deposit = read(**{wire: value})
    assert getattr(deposit, field) is None
    assert (deposit.deposit_id, deposit.status) == ("chk_1", "completed")


ODD = [5, -1.5, True, "", "odd", "2026-13-45T99:00:00Z", [], [1, None], {}, {"amount": "1"}, {"exchangeRate": []}, None]
OPTIONAL = sorted(set(DEPOSIT) - {"depositId", "status", "inputAmount", "inputCurrency"})


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("wire", OPTIONAL)
def test_no_odd_field_hides_the_payment(wire: str, value: object) -> None:
    deposit = read(**{wire: value})
    assert (deposit.deposit_id, deposit.status) == ("chk_1", "completed")
    assert (deposit.input_amount, deposit.input_currency) == (Decimal("12.5"), "USD")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@steady
@given(st.dictionaries(st.sampled_from(OPTIONAL), JSON))
def test_no_set_of_odd_fields_hides_the_payment(odd: dict[str, Any]) -> None:
    deposit = read(**odd)
    assert (deposit.deposit_id, deposit.status, deposit.input_amount) == ("chk_1", "completed", Decimal("12.5"))
    for amount in (deposit.output_amount, deposit.input_amount):
        assert amount is None or isinstance(amount, Decimal)


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"createdAt": "0001-01-01T00:00:00+14:00"}, "created_at", None),
        ({"createdAt": 1767225600}, "created_at", None),
        ({"createdAt": "2026-01-01T09:00:00"}, "created_at", datetime(2026, 1, 1, 9, tzinfo=UTC)),
        ({"fee": {"amount": "1", "percentage": 3, "currency": 4}}, "fee", Fee(None, Decimal(3), None)),
        ({"fee": []}, "fee", None),
        ({"exchangeInfo": "1.0"}, "exchange_info", None),
        ({"activityHistory": {}}, "activity_history", ()),
        ({"activityHistory": [1, {"activity": "a"}, None]}, "activity_history", (Activity("a"),)),
        ({"activityHistory": [{"updatedAt": {}}]}, "activity_history", (Activity(),)),
        ({"paymentCrypto": {"a": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}}, "payment_crypto", None),
        ({"inputCurrency": "US\0D"}, "input_currency", None),
        ({"inputCurrency": "\udfff"}, "input_currency", None),
    ],
)
def test_what_a_malformed_field_reads_as(changed: dict[str, Any], field: str, value: object) -> None:
    assert getattr(read(**changed), field) == value


@pytest.mark.parametrize("wire", ["depositId", "status"])
@pytest.mark.parametrize("value", [None, 5, True, [], {}, "x" * 501, "a\0"], ids=lambda value: repr(value)[:9])
def test_without_id_or_status_there_is_no_deposit(wire: str, value: object) -> None:
    with pytest.raises(TransportFailed, match=r"GET /v1/deposit/\{id\}: the d"):
        read(**{wire: value})


@pytest.mark.parametrize(
    "body",
    [
        b'{"statusCode":200,"data":{"depositId":"c","status":"pending","status":"completed"}}',
        b'{"statusCode":200,"data":{"depositId":"c","status":"completed","inputAmount":1,"inputAmount":9}}',
        b'{"statusCode":404,"statusCode":200,"data":{"depositId":"c","status":"completed"}}',
        b'{"statusCode":200,"data":{"depositId":"c","status":"completed"},"data":{"depositId":"d","status":"x"}}',
    ],
)
def test_ambiguous_money_is_no_answer(body: bytes) -> None:
    with pytest.raises(TransportFailed, match="twice"):
        Shop(Script(body), count=0).deposits.get("c")


def test_a_doubled_key_in_a_side_matter_hides_nothing() -> None:
    body = b'{"statusCode":200,"data":{"depositId":"c","status":"completed","fee":{"amount":1,"amount":2},'
    body += b'"paymentCrypto":{"a":1,"a":2},"inputAmount":9,"activityHistory":[{"status":"a","status":"b"}]}}'
    deposit = Shop(Script(body)).deposits.get("c")
    assert deposit == Deposit("c", "completed", input_amount=Decimal(9))


@pytest.mark.parametrize("value", ["1e400", "1E-999999999", "-1e99999999999999999999", "9" * 5000, "NaN", "Infinity"])
def test_monstrous_numbers_are_no_amounts(value: str) -> None:
    body = success(DEPOSIT).replace(b'"inputAmount": 12.5', b'"inputAmount": ' + value.encode())
    assert value.encode() in body
    deposit = Shop(Script(body)).deposits.get("c")
    assert deposit.input_amount is None
    assert deposit.output_amount == Decimal("12.1")


@pytest.mark.parametrize(
    ("given_id", "path"),
    [
        ("a/b", b"/v1/deposit/a%2Fb"),
        ("a/../../v2/payment", b"/v1/deposit/a%2F..%2F..%2Fv2%2Fpayment"),
        ("...", b"/v1/deposit/..."),
        ("%2e%2e", b"/v1/deposit/%252e%252e"),
        ("a?b=c#d", b"/v1/deposit/a%3Fb%3Dc%23d"),
        ("a b\r\nX: é", b"/v1/deposit/a%20b%0D%0AX%3A%20%C3%A9"),
        ("{id}", b"/v1/deposit/%7Bid%7D"),
        ("a;b@c:80", b"/v1/deposit/a%3Bb%40c%3A80"),
    ],
)
def test_an_id_is_exactly_one_segment(given_id: str, path: bytes) -> None:
    script = Script(success(DEPOSIT))
    Shop(script).deposits.get(given_id)
    assert script.requests[0].url.raw_path == path


@pytest.mark.parametrize("given_id", ["", ".", "..", "x" * 501, "\ud800"], ids=["empty", "dot", "dots", "long", "half"])
def test_what_cannot_be_a_segment_is_refused_unsent(given_id: str) -> None:
    script = Script(success(DEPOSIT))
    for call in (Shop(script).deposits.get, lambda value: Shop(script).deposits.sandbox_update(value, "completed")):
        with pytest.raises(ValueError, match="id"):
            call(given_id)
    assert script.requests == []


def test_an_id_is_a_string() -> None:
    with pytest.raises(TypeError, match="must be a string"):
        Shop(Script(success(DEPOSIT))).deposits.get(5)  # type: ignore[arg-type]


def test_no_deposit_yet() -> None:
    script = Script(refusal(404, "Not Found", "Deposit not found"))
    with pytest.raises(NotFound, match="Deposit not found"):
        Shop(script).deposits.get("chk_1")
    assert len(script.requests) == 1


def test_sandbox_update_sets_the_status() -> None:
    script = Script(success(DEPOSIT))
    assert Shop(script).deposits.sandbox_update("chk/1", "completed") == WHOLE
    (request,) = script.requests
    assert (request.method, request.url.raw_path) == ("PATCH", b"/v1/deposit/chk%2F1")
    assert json.loads(request.content) == {"status": "completed"}


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("gone"),
        b"<html>",
        success({"depositId": 5}),
        httpx.Response(502, content=b"Bad Gateway"),
        httpx.Response(303, headers={"Location": "/elsewhere"}),
    ],
    ids=["timeout", "broken", "html", "half", "proxy", "redirect"],
)
def test_a_lost_update_is_unknown_and_never_sent_again(answer: bytes | httpx.Response | Exception) -> None:
    script = Script(answer)
    with pytest.raises(OutcomeUnknown, match="look it up by 'chk_1'") as caught:
        Shop(script).deposits.sandbox_update("chk_1", "completed")
    assert caught.value.reference == "chk_1"
    assert caught.value.request_sent
    assert len(script.requests) == 1


@pytest.mark.parametrize("fault", [httpx.ConnectError("refused"), httpx.ConnectTimeout(""), httpx.PoolTimeout("")])
def test_an_update_that_never_left_is_no_unknown(fault: Exception) -> None:
    script = Script(fault)
    with pytest.raises(TransportFailed) as caught:
        Shop(script).deposits.sandbox_update("chk_1", "completed")
    assert type(caught.value) is TransportFailed
    assert not caught.value.request_sent
    assert len(script.requests) == 1


@pytest.mark.parametrize(("status", "kind"), [(400, Invalid), (500, ServiceFault)])
def test_a_refused_update_is_a_refusal(status: int, kind: type[Exception]) -> None:
    script = Script(refusal(status))
    with pytest.raises(kind):
        Shop(script).deposits.sandbox_update("chk_1", "completed")
    assert len(script.requests) == 1
