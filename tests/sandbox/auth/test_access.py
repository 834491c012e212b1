"""Signature and access token: the contract's vectors, the header formats, and everything that is not accepted."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.access import check_access_token
from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN, USER_ID
from flask_paycheckout.sandbox.wire.envelope import Refusal
from flask_paycheckout.sandbox.world.assumptions import sign, string_to_sign
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import CLIENT_SECRET, Merchant, Tester, machine_seconds, signature
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox

READ = "/v1/deposit/none"


@pytest.mark.parametrize(
    ("method", "target", "body", "expected"),
    [
        (
            *("POST", "/v1/checkout", b'{"inputCurrency":"USD","inputAmount":12.5}'),
            "2b2536039fa597360711922f5fed0cf0778faff9151ec857dc85948c004882bb",
        ),
        (
            *("GET", "/v1/recipient?limit=10&page=2", b""),
            "65698f26ea4dcc5a6cee5f53b50240d1be6aa24671d3ee0c0e32f2ba7ab5b96a",
        ),
    ],
)
def test_the_contracts_vectors_hold(method: str, target: str, body: bytes, expected: str) -> None:
    assert sign(CLIENT_SECRET, string_to_sign(method, target, "1767225600", body)) == expected


@pytest.mark.parametrize(
    "signed_by",
    [
        *("0" * 64, "\u00e9", " "),
        pytest.param(signature("POST", "/v1/checkout", "1767225600", b"{}"), id="other-time-and-body"),
        pytest.param(signature("POST", "/v1/checkout?a=b", machine_seconds(), b"{}"), id="other-query"),
    ],
)
def test_a_wrong_signature_is_refused(merchant: Merchant, signed_by: str) -> None:
    refused = merchant.calls("POST", "/v1/checkout", {}, signed_by=signed_by)
    assert (refused.code, refused.body["error"]) == (401, "Unauthorized")


@pytest.mark.parametrize("stamp", ["", "now", "1.5", "-5", "\u0663", "9" * 400])
def test_a_timestamp_must_be_unix_seconds(merchant: Merchant, stamp: str) -> None:
    assert merchant.calls("GET", READ, timestamp=stamp.encode().decode("latin-1")).code == 401


def test_wrong_secret_and_unknown_client_get_the_same_answer(sandbox: Flask) -> None:
    wrong = Merchant(sandbox, secret="guessed").reads_deposit("x")
    stranger = Merchant(sandbox, client_id="nobody").reads_deposit("x")
    assert wrong.code == 401
    assert wrong.body == stranger.body


def test_a_timestamp_may_be_five_minutes_away(merchant: Merchant, tester: Tester) -> None:
    """The difference is from the machine's time or from the virtual time."""
    tester.advances(hours=5)
    for away, code in ((0, 404), (-290, 404), (290, 404), (-310, 401), (7200, 401), (17_990, 404), (18_310, 401)):
        stamp = str(int(machine_seconds(merchant.app)) + away)
        assert merchant.calls("GET", READ, timestamp=stamp).code == code, away


def whose(app: Flask, header: str | None) -> str | int:
    """The user of the header's token, or the statusCode of the refusal."""
    headers = {} if header is None else {"Authorization": header}
    with app.test_request_context(headers=headers), transaction() as session:
        try:
            return check_access_token(session).user_id
        except Refusal as refused:
            return refused.status_code


@pytest.mark.on_each_database
def test_the_token_of_a_login_is_its_users(sandbox: Flask, visitor: Visitor) -> None:
    registered = visitor.registers().data["verificationToken"]
    login = visitor.confirms(registered, visitor.otp("new@example.com")).data
    assert whose(sandbox, f"Bearer {login['accessToken']}") == login["user"]["id"] != USER_ID


@pytest.mark.parametrize("header", [None, "Bearer ", "Bearer wrong", "Basic YTpi", "Bearer é"])
def test_without_a_valid_token_it_is_401(sandbox: Flask, header: str | None) -> None:
    assert whose(sandbox, header) == 401


@pytest.mark.parametrize(
    ("name", "with_scheme", "raw"),
    [("both", USER_ID, USER_ID), ("bearer", USER_ID, 401), ("raw", 401, USER_ID)],
)
def test_unknown_authorization_format(make_sandbox: MakeSandbox, name: str, with_scheme: object, raw: object) -> None:
    app = make_sandbox(authorization_format=name)
    assert whose(app, f"Bearer {ACCESS_TOKEN}") == with_scheme
    assert whose(app, f"bearer  {ACCESS_TOKEN}") == with_scheme
    assert whose(app, ACCESS_TOKEN) == raw


def test_is_disable_expire_true_gives_a_token_without_expiry(sandbox: Flask, visitor: Visitor, tester: Tester) -> None:
    token = visitor.gets_token(isDisableExpire=True)
    tester.advances(hours=24 * 3000)
    visitor.logs_in()
    assert whose(sandbox, token) == USER_ID
    assert whose(sandbox, ACCESS_TOKEN) == USER_ID


@pytest.mark.parametrize(("minutes", "fields"), [("1440", {"isDisableExpire": False}), ("60", {})])
def test_a_token_expires_by_the_virtual_clock(make_sandbox: MakeSandbox, minutes: str, fields: dict[str, Any]) -> None:
    app = make_sandbox(access_token_minutes=minutes)
    token = Visitor(app).gets_token(**fields)
    Tester(app).advances(minutes=int(minutes) - 1)
    assert whose(app, token) == USER_ID
    Tester(app).advances(minutes=2)
    assert whose(app, token) == 401
