from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from flask_paycheckout.client import Invalid, Login, Organization, PaymentsError, TransportFailed, Unauthorized, User
from tests.client.samples import USER
from tests.client.wire import Script, Shop, refusal, success

TOKEN = "canary-verification"
PASSWORD = "canary-password"
OTP = "canary-otp"
NATIONAL_ID = "canary-id"


def by_status(data: object, status: object = 200) -> bytes:
    """Success as login and verify-login say it."""
    return success(data).replace(b'"statusCode": 200', f'"status": {status}'.encode())


def sent(script: Script) -> tuple[str, bytes, bytes]:
    (request,) = script.requests
    assert not {"authorization", "x-signature", "x-client-id", "x-timestamp"} & set(request.headers)
    return request.method, request.url.raw_path, request.content


def test_registering_gives_the_verification_token() -> None:
    script = Script(success({"verificationToken": TOKEN}, 201))
    assert Shop(script).auth.register("a@b.c", PASSWORD, "Ann Example") == TOKEN
    assert sent(script) == (
        "POST",
        b"/v1/auth/register",
        b'{"email":"a@b.c","fullName":"Ann Example","password":"canary-password"}',
    )


def test_registering_with_everything() -> None:
    script = Script(success({"verificationToken": TOKEN}))
    Shop(script).auth.register("a@b.c", "p", "Ann", national_id="N1", country="France", country_code="FR")
    assert sent(script)[2] == (
        b'{"email":"a@b.c","fullName":"Ann","password":"p","country":"France","countryCode":"FR","nationalID":"N1"}'
    )


def test_logging_in_gives_the_verification_token() -> None:
    script = Script(by_status({"verificationToken": TOKEN}))
    token = Shop(script).auth.login("a@b.c", PASSWORD)
    assert (token, isinstance(token, str)) == (TOKEN, True)
    assert sent(script) == ("POST", b"/v1/auth/login", b'{"email":"a@b.c","password":"canary-password"}')


@pytest.mark.parametrize(("disable", "word"), [(False, b"false"), (True, b"true")])
def test_verifying_gives_the_login(disable: bool, word: bytes) -> None:
    script = Script(by_status({"accessToken": "canary-access", "user": USER}))
    login = Shop(script).auth.verify_login(TOKEN, OTP, disable_expire=disable)
    at = datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert login.access_token == "canary-access"
    assert login.user == User(
        id="u1",
        name="Ann",
        email="ann@example.com",
        policy="p1",
        organization_id=Organization("o1", "Jars"),
        role="admin",
        is_active=True,
        iskyc=False,
        invitation_date=at,
        invitation_expiration_date=at,
        created_at=at,
        updated_at=at,
        country="France",
        country_code="FR",
        kyc_url="https://kyc.example.com",
        legal_full_name="Ann Example",
        partner_id="x1",
        otp_code="canary-otp",  # type: ignore[arg-type]
        credentials={"key": "canary-credentials"},
    )
    assert sent(script) == (
        "POST",
        b"/v1/auth/verify-login",
        b'{"verificationToken":"canary-verification","otp":"canary-otp","isDisableExpire":%s}' % word,
    )


def test_no_secret_of_a_login_is_shown() -> None:
    login = Shop(Script(by_status({"accessToken": "canary-access", "user": USER}))).auth.verify_login(TOKEN, OTP)
    assert "canary" not in repr(login) + repr([login.user]) + str(login.user)
    assert "name='Ann'" in repr(login)
    assert "credentials=None" in repr(User())
    assert login.user is not None
    assert (login.user.otp_code, login.user.credentials) == ("canary-otp", {"key": "canary-credentials"})


@pytest.mark.parametrize("user", [None, 5, [], {}, {"id": 5, "is_active": "yes", "createdAt": "soon", "otp_code": 1}])
def test_an_odd_user_costs_no_access_token(user: object) -> None:
    login = Shop(Script(by_status({"accessToken": "t", "user": user}))).auth.verify_login(TOKEN, OTP)
    assert login.access_token == "t"
    assert login.user in (None, User())


Call = Callable[[Shop], object]
CALLS: dict[str, Call] = {
    "register": lambda shop: shop.auth.register("a@b.c", PASSWORD, "Ann", national_id=NATIONAL_ID),
    "login": lambda shop: shop.auth.login("a@b.c", PASSWORD),
    "verify": lambda shop: shop.auth.verify_login(TOKEN, OTP),
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
by_status_calls = pytest.mark.parametrize("call", [CALLS["login"], CALLS["verify"]], ids=["login", "verify"])
GOOD = {"verificationToken": TOKEN, "accessToken": "t"}


@by_status_calls
@pytest.mark.parametrize(
    "body",
    [
        success(GOOD),
        by_status(GOOD, "true"),
        by_status(GOOD, '"200"'),
        by_status(GOOD, 302),
        by_status({}),
        by_status({"verificationToken": 5, "accessToken": None}),
        by_status([GOOD]),
    ],
    ids=["statusCode", "bool", "string", "302", "empty", "odd", "list"],
)
def test_logins_say_status_and_nothing_else(call: Call, body: bytes) -> None:
    with pytest.raises(TransportFailed) as caught:
        call(Shop(Script(body)))
    assert type(caught.value) is TransportFailed


def test_registering_says_status_code() -> None:
    with pytest.raises(TransportFailed, match="no usable statusCode"):
        CALLS["register"](Shop(Script(by_status(GOOD))))


@every_call
@pytest.mark.parametrize(
    ("body", "kind"),
    [(refusal(401), Unauthorized), (refusal(400), Invalid), (refusal(422), Invalid)],
    ids=["401", "400", "422"],
)
def test_refusals_say_status_code(call: Call, body: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        call(Shop(Script(body)))


@by_status_calls
@pytest.mark.parametrize(
    "body",
    [b'{"status":401,"error":"Unauthorized"}', b'{"status":200,"statusCode":401,"data":{"verificationToken":"x"}}'],
)
def test_a_refusal_is_one_under_either_name(call: Call, body: bytes) -> None:
    with pytest.raises(Unauthorized):
        call(Shop(Script(body)))


@every_call
@pytest.mark.parametrize("answer", [httpx.ReadTimeout(""), b"<html>", refusal(503)], ids=["lost", "html", "503"])
def test_nothing_here_is_sent_twice(call: Call, answer: bytes | Exception) -> None:
    script = Script(answer)
    with pytest.raises(PaymentsError):
        call(Shop(script))
    assert len(script.requests) == 1


@every_call
@pytest.mark.parametrize("status", [400, 401, 503])
def test_a_secret_that_comes_back_in_an_error_is_masked(
    call: Call, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=refusal(status, "x" * 295 + PASSWORD, request.content.decode() * 3))

    with pytest.raises(PaymentsError) as caught:
        call(Shop(echo))
    assert "***" in str(caught.value)
    told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    shown = [str(frame.locals) for frame in told.stack if "paycheckout/client" in frame.filename]
    shown += [*traceback.format_exception(caught.value), repr(caught.value), str(vars(caught.value)), caplog.text]
    assert "canary" not in "".join(shown)


@pytest.mark.parametrize(
    "call",
    [
        lambda auth: auth.login(5, "p"),
        lambda auth: auth.login("a", None),
        lambda auth: auth.register("a", b"p", "n"),
        lambda auth: auth.register("a", "p", None),
        lambda auth: auth.verify_login("t", 123456),
        lambda auth: auth.verify_login("t", "1", disable_expire="yes"),
    ],
)
def test_arguments_of_another_type_are_named(call: Callable[[Any], object]) -> None:
    script = Script(by_status(GOOD))
    with pytest.raises(TypeError, match=r"(email|password|full_name|otp|disable_expire) must be"):
        call(Shop(script).auth)
    assert script.requests == []


def test_half_a_character_in_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match=r"^password must be encodable as UTF-8$"):
        Shop(Script(by_status(GOOD))).auth.login("a", "canary\ud800")


def test_a_login_can_be_made_for_tests() -> None:
    assert Login("t").user is None  # type: ignore[arg-type]
