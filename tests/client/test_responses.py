"""Records and errors convert to plain data, and have status, headers and requested id of their response."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest

from flask_paycheckout.client import Deposit, NotFound, PaymentsError, ServiceFault, TransportFailed, User
from flask_paycheckout.client.envelope import data_of, envelope_of
from flask_paycheckout.client.records import RecordReader
from tests.client import samples
from tests.client.samples import DEPOSIT
from tests.client.wire import Script, Shop, paged, refusal, success

HEADERS = {"X-Request-Id": "req-1", "Set-Cookie": "session=canary"}


def answer(body: bytes, status: int = 200) -> httpx.Response:
    return httpx.Response(status, headers=HEADERS, content=body)


def test_a_record_becomes_plain_data() -> None:
    deposit = Shop(Script(success(DEPOSIT))).deposits.get("chk_1")
    plain = deposit.to_dict()
    assert plain["input_amount"] == Decimal("12.5")
    assert plain["fee"] == {"amount": Decimal("1.25"), "percentage": Decimal("1.25"), "currency": "some currency"}
    assert plain["activity_history"][0]["updated_at"] == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert set(plain) == set(Deposit.__struct_fields__)
    assert json.loads(json.dumps(plain, default=str))["created_at"] == "2026-01-01 10:00:00+00:00"


def test_plain_data_of_a_user_shows_no_secret_in_its_repr() -> None:
    credentials = {"key": "canary", "pin": 918273, "more": ["canary"]}
    user = RecordReader(User).read(data_of(envelope_of(success({**samples.USER, "credentials": credentials}))))
    plain = user.to_dict()
    assert "canary" not in repr(plain)
    assert "918273" not in repr(plain)
    assert plain["credentials"]["key"] == "canary"


def test_a_record_tells_of_its_response_whatever_its_http_status() -> None:
    shop = Shop(Script(answer(success(DEPOSIT), 500)))
    deposit = shop.deposits.get("ref/1")
    assert deposit.response is not None
    assert (deposit.response.http_status, deposit.response.requested_id) == (500, "ref/1")
    assert deposit.response.operation == "GET /v1/deposit/{id}"
    assert deposit.response.headers["x-request-ID"] == "req-1"
    assert "canary" not in repr([deposit.response, deposit.response.headers, deposit])
    assert deposit == shop.deposits.get("another")
    assert pickle.loads(pickle.dumps(deposit)) == deposit  # noqa: S301
    with pytest.raises(AttributeError):
        deposit.response = None  # type: ignore[misc]


@pytest.mark.parametrize("data", [[samples.FIAT], paged(samples.FIAT)], ids=["array", "paged"])
def test_every_record_of_a_list_tells_of_its_response(data: Any) -> None:
    page = Shop(Script(answer(success(data)))).fiat_disbursements.list()
    (record,) = page
    assert record.response is not None
    assert (record.response.headers["x-request-id"], record.response.requested_id) == ("req-1", None)
    assert page.response == record.response


def test_fields_that_the_client_does_not_know_are_kept() -> None:
    deep: list[Any] = []
    for _ in range(40):
        deep = [deep]
    fee = {**DEPOSIT["fee"], "rebate": 0.125}
    answered = Shop(Script(success({**DEPOSIT, "fee": fee, "shiny": {"new": [1]}, "deep": deep}))).deposits.get("chk_1")
    assert answered.extra == {"shiny": {"new": [1]}}
    assert answered.fee.extra == {"rebate": Decimal("0.125")}
    plain = Shop(Script(success(DEPOSIT))).deposits.get("chk_1")
    assert (plain.extra, plain.to_dict()) == ({}, answered.to_dict())
    assert answered == plain
    page = Shop(Script(success(paged(samples.RECIPIENT, cursor="next")))).recipients.list()
    assert (page.extra, len(page), page.docs[0].extra) == ({"cursor": "next"}, 1, {})


REFUSED = [(refusal(404), NotFound), (refusal(500), ServiceFault), (b"<html>", TransportFailed)]


@pytest.mark.parametrize(("body", "kind"), REFUSED, ids=["404", "500", "garbage"])
def test_an_error_tells_of_its_response(body: bytes, kind: type[PaymentsError]) -> None:
    with pytest.raises(kind) as caught:
        Shop(Script(answer(body, 502)), count=0).deposits.get("ref/1")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):  # noqa: S301
        assert (error.http_status, error.requested_id) == (502, "ref/1")
        assert error.headers is not None
        assert error.headers["x-request-id"] == "req-1"
        assert "canary" not in repr([error, vars(error), str(error)])
