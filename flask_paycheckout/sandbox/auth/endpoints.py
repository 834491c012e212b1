"""`POST /v1/auth/register`, `/v1/auth/login` and `/v1/auth/verify-login`.

Hashing a password is slow on purpose, so it happens with no transaction open. An unknown address is answered like a
wrong password, and as slowly, so that nobody can find out which addresses are registered; so is the address of an
account whose password is not hashed.
"""

from __future__ import annotations

import hmac
from datetime import timedelta

from flask import Blueprint
from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from werkzeug.security import check_password_hash, generate_password_hash

from flask_paycheckout.sandbox.auth.access import issue_token
from flask_paycheckout.sandbox.auth.schemas import (
    Confirmation,
    LoginRecord,
    NewLogin,
    NewUser,
    VerificationRecord,
    represent,
)
from flask_paycheckout.sandbox.auth.start_state import make_user
from flask_paycheckout.sandbox.auth.tables import Account, User, Verification, digest_of
from flask_paycheckout.sandbox.outgoing.mails import store_mail
from flask_paycheckout.sandbox.wire.envelope import Envelope, Refusal, success, unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import key_of
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.database import rows_changed, transaction
from flask_paycheckout.sandbox.world.settings import new_id, new_secret

auth = Blueprint("auth", __name__, url_prefix="/v1/auth")

# Compared with where there is no hash, so that this takes as long; nobody's password.
_ANY_HASH = (
    "scrypt:32768:8:1$Y5vc8cpiswLwkGSx$"
    "9c278cc397ab30c6b399f53aba8669a3a46d6324c35d0cbe3f4e808a68d30d16"
    "3253ec3238b78ab6bf85c1082e3d4d73108c8cfe02a1330b51591dfe468249f4"
)


@auth.post("/register")
@operation(credentials=Credentials.NONE, body=NewUser, codes=(200, 201))
def register_user() -> Envelope[VerificationRecord]:
    """Register with e-mail address and password.

    A one-time password is mailed; it and the token complete the first login.
    """
    new = read_body(NewUser)
    # Hashed before the look-up, so that a registered address is answered as slowly as a free one.
    password_hash = generate_password_hash(new.password)
    try:
        with transaction() as session:
            token = _begin_login(session, _add_user(session, new, password_hash))
    except IntegrityError:
        raise unspecified_refusal("email_taken_error", "This e-mail address is registered already.") from None
    return success(VerificationRecord(token), "Registered successfully", "register_status_code")


def _add_user(session: Session, new: NewUser, password_hash: str) -> User:
    """Add a user, who has to log in, with an account that has new client credentials."""
    user_id = new_id(session)
    name = f"client-{user_id}"
    secret = new_secret(session)
    session.add(Account(user_id=user_id, name=name, client_id=name, client_secret=secret, checkout_enabled=True))
    session.flush()
    user = make_user(
        *(user_id, new.email, new.full_name, current_time()),
        account_id=user_id,
        password_hash=password_hash,
        country=new.country,
        country_code=new.country_code,
        organization_id=new_id(session),
        organization_name=new.full_name,
        policy=new_id(session),
        is_active=False,
        is_verified=False,
    )
    session.add(user)
    session.flush()
    return user


@auth.post("/login")
@operation(credentials=Credentials.NONE, body=NewLogin, code_field="status")
def log_user_in() -> Envelope[VerificationRecord]:
    """Begin a login: a one-time password is mailed."""
    sent = read_body(NewLogin)
    with transaction() as session:
        user = session.scalar(select(User).where(User.email_key == key_of(sent.email)))
        unhashed = None if user is None else session.get_one(Account, user.account_id).password
    stored = None if user is None else user.password_hash
    is_right = check_password_hash(stored or _ANY_HASH, sent.password)
    if stored is None and unhashed is not None:
        is_right = hmac.compare_digest(unhashed.encode(), sent.password.encode())
    if user is None or not is_right:
        raise unspecified_refusal("wrong_password_error", "The e-mail address or the password is wrong.")
    with transaction() as session:
        token = _begin_login(session, user)
    return success(VerificationRecord(token), "One-time password sent", code_field="status")


def _begin_login(session: Session, user: User) -> str:
    """Start a login: mail the one-time password, and return the verification token that belongs to it."""
    now = current_time()
    if assumption("earlier_verification_tokens") == "revoked":
        session.execute(delete(Verification).where(Verification.user_id == user.id))
    session.execute(delete(Verification).where(Verification.expires_at <= now))
    digits, minutes = int(assumption("otp_digits")), int(assumption("otp_minutes"))
    token, drawn = new_secret(session), int(new_id(session).replace("-", ""), 16)
    otp = f"{drawn % 10**digits:0{digits}d}"
    session.add(
        Verification(
            token_digest=digest_of(token),
            user_id=user.id,
            otp_digest=_otp_digest(token, otp),
            attempts=0,
            expires_at=now + timedelta(minutes=minutes),
        )
    )
    text = f"Your one-time password is {otp}. It can be used once, within {minutes} minutes.\n"
    store_mail(session, user.account_id, user.email, "Your one-time password", text, otp)
    return token


def _otp_digest(token: str, otp: str) -> str:
    # Keyed with the token, which is not stored: a plain digest of so few digits could be reversed by brute force.
    return hmac.new(token.encode(), otp.encode(), "sha256").hexdigest()


@auth.post("/verify-login")
@operation(credentials=Credentials.NONE, body=Confirmation, code_field="status")
def verify_login() -> Envelope[LoginRecord]:
    """Complete a login with the one-time password."""
    sent = read_body(Confirmation)
    with transaction() as session:
        user = _confirm_login(session, sent.verification_token, sent.otp)
        if isinstance(user, User):
            token = issue_token(session, user.account_id, expires=not sent.is_disable_expire)
            login = LoginRecord(token, represent(user, session.get_one(Account, user.account_id), sent.otp))
            return success(login, "Logged in", code_field="status")
    # Raised after the transaction, which must commit the failed attempt.
    raise user


def _confirm_login(session: Session, token: str, otp: str) -> User | Refusal:
    """Complete a login, or tell why not. A failure counts as an attempt, so the caller must commit it too."""
    fault = "The verification token is unknown, expired, used, or was tried too often. Log in again."
    wrong_token = unspecified_refusal("verification_token_error", fault)
    now = current_time()
    usable = (
        Verification.token_digest == digest_of(token),
        Verification.used_at.is_(None),
        Verification.expires_at > now,
    )
    attempted = session.execute(
        update(Verification)
        .where(*usable, Verification.attempts < int(assumption("otp_attempts")))
        .values(attempts=Verification.attempts + 1)
        .returning(Verification.user_id, Verification.otp_digest)
        .execution_options(synchronize_session=False)
    ).first()
    if attempted is None:
        return wrong_token
    if not hmac.compare_digest(attempted.otp_digest, _otp_digest(token, otp)):
        return unspecified_refusal("wrong_otp_error", "The one-time password is wrong.")
    if not rows_changed(session, update(Verification).where(*usable).values(used_at=now)):
        return wrong_token
    first_login = update(User).where(User.id == attempted.user_id, User.is_active.is_(False))
    rows_changed(session, first_login.values(is_active=True, updated_at=now))
    return session.get_one(User, attempted.user_id)
