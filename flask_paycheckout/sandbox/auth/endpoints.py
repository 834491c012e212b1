"""`POST /v1/auth/register`, `/v1/auth/login` and `/v1/auth/verify-login`."""

from __future__ import annotations

from flask import Blueprint

from flask_paycheckout.sandbox.auth.access_tokens import issue
from flask_paycheckout.sandbox.auth.rules import account_of, log_in, register
from flask_paycheckout.sandbox.auth.schemas import (
    Confirmation,
    Credentials,
    LoginRecord,
    NewUser,
    VerificationRecord,
    represent,
)
from flask_paycheckout.sandbox.auth.verifications import Refused, confirm
from flask_paycheckout.sandbox.outgoing.mails import deliver_mails
from flask_paycheckout.sandbox.wire.envelope import Answer, Refusal, success, unworded
from flask_paycheckout.sandbox.wire.operations import Guard, operation, read_body
from flask_paycheckout.sandbox.world.context import unknown
from flask_paycheckout.sandbox.world.database import transaction

auth = Blueprint("auth", __name__, url_prefix="/v1/auth")


@auth.post("/register")
@operation(guard=Guard.NONE, takes=NewUser, codes=(200, 201))
def register_user() -> Answer[VerificationRecord]:
    """Register with e-mail address and password.

    A one-time password is mailed; it and the token complete the first login.
    """
    token = register(read_body(NewUser))
    deliver_mails()
    return success(VerificationRecord(token), "Registered successfully", int(unknown("register_status_code")))


@auth.post("/login")
@operation(guard=Guard.NONE, takes=Credentials, code_field="status")
def log_user_in() -> Answer[VerificationRecord]:
    """Begin a login: a one-time password is mailed."""
    token = log_in(read_body(Credentials))
    deliver_mails()
    return success(VerificationRecord(token), "One-time password sent", code_field="status")


@auth.post("/verify-login")
@operation(guard=Guard.NONE, takes=Confirmation, code_field="status")
def verify_login() -> Answer[LoginRecord]:
    """Complete a login with the one-time password."""
    sent = read_body(Confirmation)
    with transaction() as session:
        user = confirm(session, sent.verification_token, sent.otp)
        if not isinstance(user, Refused):
            token = issue(session, user.id, expires=not sent.is_disable_expire)
            login = LoginRecord(token, represent(user, account_of(session, user.id)))
            return success(login, "Logged in", code_field="status")
    # Raised behind the transaction: the failed attempt has to be counted.
    raise _refusal(user)


def _refusal(why: Refused) -> Refusal:
    if why is Refused.OTP:
        return unworded(int(unknown("wrong_otp_error")), "The one-time password is wrong.")
    fault = "The verification token is unknown, expired, used, or was tried too often. Log in again."
    return unworded(int(unknown("verification_token_error")), fault)
