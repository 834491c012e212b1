"""`POST /v1/auth/register`, `/v1/auth/login` and `/v1/auth/verify-login`."""

from __future__ import annotations

from flask import Blueprint

from flask_paycheckout.sandbox.auth.access import issue_token
from flask_paycheckout.sandbox.auth.rules import LoginFailure, account_of, confirm_login, log_in, register
from flask_paycheckout.sandbox.auth.schemas import (
    Confirmation,
    LoginRecord,
    NewLogin,
    NewUser,
    VerificationRecord,
    represent,
)
from flask_paycheckout.sandbox.wire.envelope import Envelope, Refusal, success, unspecified_refusal
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import transaction

auth = Blueprint("auth", __name__, url_prefix="/v1/auth")


@auth.post("/register")
@operation(credentials=Credentials.NONE, body=NewUser, codes=(200, 201))
def register_user() -> Envelope[VerificationRecord]:
    """Register with e-mail address and password.

    A one-time password is mailed; it and the token complete the first login.
    """
    token = register(read_body(NewUser))
    return success(VerificationRecord(token), "Registered successfully", int(assumption("register_status_code")))


@auth.post("/login")
@operation(credentials=Credentials.NONE, body=NewLogin, code_field="status")
def log_user_in() -> Envelope[VerificationRecord]:
    """Begin a login: a one-time password is mailed."""
    token = log_in(read_body(NewLogin))
    return success(VerificationRecord(token), "One-time password sent", code_field="status")


@auth.post("/verify-login")
@operation(credentials=Credentials.NONE, body=Confirmation, code_field="status")
def verify_login() -> Envelope[LoginRecord]:
    """Complete a login with the one-time password."""
    sent = read_body(Confirmation)
    with transaction() as session:
        user = confirm_login(session, sent.verification_token, sent.otp)
        if not isinstance(user, LoginFailure):
            token = issue_token(session, user.account_id, expires=not sent.is_disable_expire)
            login = LoginRecord(token, represent(user, account_of(session, user), sent.otp))
            return success(login, "Logged in", code_field="status")
    # Raised after the transaction, which must commit the failed attempt.
    raise _refusal(user)


def _refusal(why: LoginFailure) -> Refusal:
    if why is LoginFailure.OTP:
        return unspecified_refusal(int(assumption("wrong_otp_error")), "The one-time password is wrong.")
    fault = "The verification token is unknown, expired, used, or was tried too often. Log in again."
    return unspecified_refusal(int(assumption("verification_token_error")), fault)
