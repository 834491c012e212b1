"""Calls without a method of the client, and pages one after the other."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from flask_paycheckout.client import Invalid, OutcomeUnknown
from tests.client.access import access_of
from tests.client.wire import Script, Shop, refusal, success


@pytest.mark.parametrize("verb", ["GET", "get"])
def test_an_unknown_read_is_signed_repeated_and_exact(verb: str) -> None:
    script = Script(refusal(500), success({"rate": 1.10}))
    data = Shop(script).call(verb, "/v3/rates/USD%2FEUR", query={"exact": True, "at": None, "least": Decimal("0.10")})
    assert data == {"rate": Decimal("1.1")}
    assert [request.url.raw_path for request in script.requests] == [b"/v3/rates/USD%2FEUR?exact=true&least=0.10"] * 2
    assert access_of(script.requests[0]) == "signed"


def test_an_unknown_write_is_sent_once_and_may_move_money() -> None:
    script = Script(b"<html>")
    with pytest.raises(OutcomeUnknown, match="'ref-9'"):
        Shop(script).call(
            "POST", "/v3/payouts", body={"amount": Decimal("1.50")}, access="bearer", references=("ref-9",)
        )
    (request,) = script.requests
    assert access_of(request) == "bearer"
    assert json.loads(request.content, parse_float=str) == {"amount": "1.50"}
    with pytest.raises(Invalid):
        Shop(Script(refusal(400))).call("DELETE", "/v3/x", access="open")


@pytest.mark.parametrize(
    "path",
    ["x", "/a b", "/a?b=c", "/a/../b", "//a", "/é"],
)
def test_a_path_that_could_lead_elsewhere_is_not_requested(path: str) -> None:
    script = Script(success({}))
    with pytest.raises(ValueError, match="must"):
        Shop(script).call("GET", path)
    assert script.requests == []


def test_a_success_without_data_is_none() -> None:
    assert Shop(Script(b'{"statusCode":200}')).call("PUT", "/x") is None
