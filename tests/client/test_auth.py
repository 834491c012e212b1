from __future__ import annotations

import pytest

from flask_paycheckout.client import TransportFailed, Unauthorized, User
from tests.client.samples import USER
from tests.client.wire import Script, Shop, success

TOKEN = "canary-verification"
PASSWORD = "canary-password"
OTP = "canary-otp"


def by_status(data: object, status: object = 200) -> bytes:
    """A success envelope as in login and verify-login."""
    return success(data).replace(b'"statusCode": 200', f'"status": {status}'.encode())


def sent(script: Script) -> bytes:
    (request,) = script.requests
    assert not {"authorization", "x-signature", "x-client-id", "x-timestamp"} & set(request.headers)
    return request.content


def test_no_secret_of_a_login_is_shown() -> None:
    script = Script(by_status({"accessToken": "canary-access", "user": USER}))
    login = Shop(script).auth.verify_login(TOKEN, OTP, disable_expire=True)
    assert login.access_token == "canary-access"
    assert sent(script).endswith(b'"isDisableExpire":true}')
    assert "canary" not in repr(login) + repr([login.user]) + str(login.user)
    assert "name='Ann'" in repr(login)
    assert "credentials=None" in repr(User())
    assert login.user is not None
    assert (login.user.otp_code, login.user.credentials) == ("canary-otp", {"key": "canary-credentials"})


GOOD = {"verificationToken": TOKEN, "accessToken": "t"}


@pytest.mark.parametrize(
    "body",
    [success(GOOD), by_status(GOOD, '"200"'), by_status(GOOD, 302), by_status({}), by_status({"accessToken": None})],
    ids=["statusCode", "string", "302", "empty", "odd"],
)
def test_logins_say_status_and_nothing_else(body: bytes) -> None:
    with pytest.raises(TransportFailed):
        Shop(Script(body)).auth.verify_login(TOKEN, OTP)


@pytest.mark.parametrize(
    "body",
    [b'{"status":401,"error":"Unauthorized"}', b'{"status":200,"statusCode":401,"data":{"verificationToken":"x"}}'],
)
def test_a_refusal_is_one_under_either_name(body: bytes) -> None:
    with pytest.raises(Unauthorized):
        Shop(Script(body)).auth.login("a@b.c", "p")
