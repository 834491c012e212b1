"""`POST /v1/auth/register`, `/v1/auth/login` and `/v1/auth/verify-login`.

An unknown address is answered like a wrong password, so that nobody can find out which addresses are registered.
"""

from __future__ import annotations

import hmac
from datetime import timedelta

from flask import Blueprint
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import issue_token, operation
from flask_paycheckout.sandbox.auth.schemas import (
    Confirmation,
    LoginRecord,
    NewLogin,
    NewUser,
    VerificationRecord,
    represent,
)
from flask_paycheckout.sandbox.auth.start_state import add_account
from flask_paycheckout.sandbox.auth.tables import User, Verification, digest_of, password_digest
from flask_paycheckout.sandbox.outgoing.mails import store_mail
from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import key_of
from flask_paycheckout.sandbox.wire.operations import Credentials
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import current_time
from flask_paycheckout.sandbox.world.settings import new_id, new_secret

OTP_DIGITS, OTP_MINUTES, OTP_ATTEMPTS = 6, 10, 5
"""A one-time password's digits, how long it and its verification token live, and how often it may be tried."""

auth = Blueprint("auth", __name__, url_prefix="/v1/auth")


@auth.post("/register")
@operation(credentials=Credentials.NONE, code="register_status_code", message="Registered successfully")
def register_user(session: Session, sent: NewUser) -> VerificationRecord:
    """Register with e-mail address and password.

    A one-time password is mailed; it and the token complete the first login.
    """
    try:
        user = _add_user(session, sent)
    except IntegrityError:
        raise unspecified_refusal("email_taken_error", "This e-mail address is registered already.") from None
    return VerificationRecord(_begin_login(session, user))


def _add_user(session: Session, new: NewUser) -> User:
    """Add a user, who has to log in, with an account that has new client credentials."""
    user_id = new_id(session)
    name = f"client-{user_id}"
    secret = new_secret(session)
    account = Account(
        user_id=user_id,
        name=name,
        client_id=name,
        client_secret=secret,
        organization_id=new_id(session),
        organization_name=new.full_name,
        policy=new_id(session),
    )
    return add_account(
        *(session, account, new.email, new.full_name, current_time(), new.password),
        country=new.country,
        country_code=new.country_code,
        is_active=False,
        is_verified=False,
    )


@auth.post("/login")
@operation(credentials=Credentials.NONE, code_field="status", message="One-time password sent")
def log_user_in(session: Session, sent: NewLogin) -> VerificationRecord:
    """Begin a login: a one-time password is mailed."""
    user = session.scalar(select(User).where(User.email_key == key_of(sent.email)))
    if user is None or not hmac.compare_digest(user.password_digest, password_digest(user.id, sent.password)):
        raise unspecified_refusal("wrong_password_error", "The e-mail address or the password is wrong.")
    return VerificationRecord(_begin_login(session, user))


def _begin_login(session: Session, user: User) -> str:
    """Start a login: mail the one-time password, and return the verification token that belongs to it."""
    now = current_time()
    session.execute(delete(Verification).where(Verification.expires_at <= now))
    token, drawn = new_secret(session), int(new_id(session).replace("-", ""), 16)
    otp = f"{drawn % 10**OTP_DIGITS:0{OTP_DIGITS}d}"
    store_verification(session, user.id, token, otp)
    text = f"Your one-time password is {otp}. It can be used once, within {OTP_MINUTES} minutes.\n"
    store_mail(session, user.account_id, user.email, "Your one-time password", text, otp)
    return token


def store_verification(session: Session, user_id: str, token: str, otp: str) -> None:
    """Store a login that waits for its one-time password."""
    expires_at = current_time() + timedelta(minutes=OTP_MINUTES)
    session.merge(
        Verification(
            token_digest=digest_of(token),
            user_id=user_id,
            otp_digest=_otp_digest(token, otp),
            attempts=0,
            expires_at=expires_at,
            used_at=None,
        )
    )


def _otp_digest(token: str, otp: str) -> str:
    # Keyed with the token, which is not stored: a plain digest of so few digits could be reversed by brute force.
    return hmac.new(token.encode(), otp.encode(), "sha256").hexdigest()


@auth.post("/verify-login")
@operation(credentials=Credentials.NONE, code_field="status", message="Logged in")
def verify_login(session: Session, sent: Confirmation) -> LoginRecord:
    """Complete a login with the one-time password."""
    user = _confirm_login(session, sent.verification_token, sent.otp)
    token = issue_token(session, user.account_id, expires=not sent.is_disable_expire)
    return LoginRecord(token, represent(user, sent.otp))


def _confirm_login(session: Session, token: str, otp: str) -> User:
    """The user whose login is complete. :raises Refusal: why it is not."""
    fault = "The verification token is unknown, expired, used, or was tried too often. Log in again."
    wrong_token = unspecified_refusal("verification_token_error", fault)
    now = current_time()
    login = session.get(Verification, digest_of(token), with_for_update=True, populate_existing=True)
    if login is None or login.used_at is not None or login.expires_at <= now or login.attempts >= OTP_ATTEMPTS:
        raise wrong_token
    login.attempts += 1
    if not hmac.compare_digest(login.otp_digest, _otp_digest(token, otp)):
        # A wrong guess counts as an attempt, although it is refused.
        session.commit()
        raise unspecified_refusal("wrong_otp_error", "The one-time password is wrong.")
    login.used_at = now
    user = session.get_one(User, login.user_id)
    if not user.is_active:
        user.is_active, user.updated_at = True, now
    return user
