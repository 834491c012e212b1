"""The access token in the `Authorization` header: how it is written, how long it lives, whose it is."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.access import check_access_token
from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN, USER_ID
from flask_paycheckout.sandbox.wire.envelope import Refusal
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox

pytestmark = pytest.mark.each_database


def whose(app: Flask, header: str | None) -> str | int:
    """The user whom the header stands for, or the statusCode of the refusal."""
    headers = {} if header is None else {"Authorization": header}
    with app.test_request_context(headers=headers), transaction() as session:
        try:
            return check_access_token(session).user_id
        except Refusal as refused:
            return refused.status_code


@pytest.mark.rule("The access token stands for the user who logged in.")
def test_the_token_of_a_login_is_its_users(sandbox: Flask, visitor: Visitor) -> None:
    registered = visitor.registers().data["verificationToken"]
    login = visitor.confirms(registered, visitor.otp("new@example.com")).data
    assert whose(sandbox, f"Bearer {login['accessToken']}") == login["user"]["id"] != USER_ID


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "wrong", "Basic YTpi", "Bearer é"])
def test_without_a_valid_token_it_is_401(sandbox: Flask, header: str | None) -> None:
    assert whose(sandbox, header) == 401


@pytest.mark.rule("Whether the access token is sent with a scheme before it is open; both are understood.")
@pytest.mark.parametrize(
    ("name", "with_scheme", "raw"),
    [("both", USER_ID, USER_ID), ("bearer", USER_ID, 401), ("raw", 401, USER_ID)],
)
def test_unknown_authorization_format(make_sandbox: MakeSandbox, name: str, with_scheme: object, raw: object) -> None:
    app = make_sandbox(authorization_format=name)
    assert whose(app, f"Bearer {ACCESS_TOKEN}") == with_scheme
    assert whose(app, f"bearer  {ACCESS_TOKEN}") == with_scheme
    assert whose(app, ACCESS_TOKEN) == raw


@pytest.mark.rule("With isDisableExpire the access token never expires, and nothing done later invalidates it.")
def test_is_disable_expire_true_gives_a_token_without_expiry(sandbox: Flask, visitor: Visitor, tester: Tester) -> None:
    token = visitor.gets_token(isDisableExpire=True)
    tester.advances(hours=24 * 3000)
    visitor.logs_in()
    assert whose(sandbox, token) == USER_ID
    assert whose(sandbox, ACCESS_TOKEN) == USER_ID


@pytest.mark.rule("How long an access token lives is open; by default a day.")
@pytest.mark.parametrize(
    ("minutes", "fields"),
    [
        ("1440", {}),
        ("1440", {"isDisableExpire": False}),
        ("1440", {"isDisableExpire": None}),
        ("60", {}),
        ("10080", {}),
    ],
)
def test_a_token_expires_by_the_virtual_clock(make_sandbox: MakeSandbox, minutes: str, fields: dict[str, Any]) -> None:
    app = make_sandbox(access_token_minutes=minutes)
    token = Visitor(app).gets_token(**fields)
    Tester(app).advances(minutes=int(minutes) - 1)
    assert whose(app, token) == USER_ID
    Tester(app).advances(minutes=2)
    assert whose(app, token) == 401
