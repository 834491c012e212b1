"""Registration and the first step of a login.

Hashing a password is slow on purpose, so it happens with no transaction open. An unknown address is answered like a
wrong password, and as slowly, so that nobody can find out which addresses are registered; so is the address of an
account whose password is not hashed.
"""

from __future__ import annotations

import hmac
from datetime import timedelta
from enum import Enum

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from werkzeug.security import check_password_hash, generate_password_hash

from flask_paycheckout.sandbox.auth.schemas import NewLogin, NewUser
from flask_paycheckout.sandbox.auth.tables import Account, User, Verification, digest_of
from flask_paycheckout.sandbox.outgoing.mails import store_mail
from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import key_of
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import rows_changed, transaction
from flask_paycheckout.sandbox.world.ids import new_id, new_secret


class LoginFailure(Enum):
    """Why a login was not confirmed."""

    TOKEN = "verificationToken"  # noqa: S105
    OTP = "otp"


def begin_login(session: Session, user: User) -> str:
    """Start a login: mail the one-time password, and return the verification token that belongs to it."""
    now = world().clock.now()
    if assumption("earlier_verification_tokens") == "revoked":
        session.execute(delete(Verification).where(Verification.user_id == user.id))
    session.execute(delete(Verification).where(Verification.expires_at <= now))
    token, otp = new_secret(session), _new_otp(session)
    minutes = int(assumption("otp_minutes"))
    session.add(
        Verification(
            token_digest=digest_of(token),
            user_id=user.id,
            otp_digest=_otp_digest(token, otp),
            attempts=0,
            created_at=now,
            expires_at=now + timedelta(minutes=minutes),
        )
    )
    text = f"Your one-time password is {otp}. It can be used once, within {minutes} minutes.\n"
    store_mail(session, user.account_id, user.email, "Your one-time password", text, otp)
    return token


def confirm_login(session: Session, token: str, otp: str) -> User | LoginFailure:
    """Complete a login. A failure counts as an attempt, so the caller must commit it too."""
    now = world().clock.now()
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
        return LoginFailure.TOKEN
    if not hmac.compare_digest(attempted.otp_digest, _otp_digest(token, otp)):
        return LoginFailure.OTP
    if not rows_changed(session, update(Verification).where(*usable).values(used_at=now)):
        return LoginFailure.TOKEN
    rows_changed(
        session,
        update(User)
        .where(User.id == attempted.user_id, User.is_active.is_(False))
        .values(is_active=True, updated_at=now),
    )
    return session.get_one(User, attempted.user_id)


def _new_otp(session: Session) -> str:
    digits = int(assumption("otp_digits"))
    return f"{int(new_id(session), 16) % 10**digits:0{digits}d}"


def _otp_digest(token: str, otp: str) -> str:
    # Keyed with the token, which is not stored: a plain digest of so few digits could be reversed by brute force.
    return hmac.new(token.encode(), otp.encode(), "sha256").hexdigest()


# Compared with where there is no hash, so that this takes as long; nobody's password.
_ANY_HASH = (
    "scrypt:32768:8:1$Y5vc8cpiswLwkGSx$"
    "9c278cc397ab30c6b399f53aba8669a3a46d6324c35d0cbe3f4e808a68d30d16"
    "3253ec3238b78ab6bf85c1082e3d4d73108c8cfe02a1330b51591dfe468249f4"
)


def _add_account(session: Session) -> Account:
    """Create the account of a user who registers, with new client credentials."""
    user_id = new_id(session)
    account = Account(
        user_id=user_id,
        name=f"client-{user_id}",
        client_id=f"client-{user_id}",
        client_secret=new_secret(session),
        checkout_enabled=True,
    )
    session.add(account)
    session.flush()
    return account


def register(new: NewUser) -> str:
    """Create a user with an account; return the verification token of the first login."""
    # Hashed before the look-up, so that a registered address is answered as slowly as a free one.
    password_hash = generate_password_hash(new.password)
    try:
        with transaction() as session:
            return begin_login(session, _add_user(session, new, password_hash))
    except IntegrityError:
        raise unspecified_refusal(
            int(assumption("email_taken_error")), "This e-mail address is registered already."
        ) from None


def _add_user(session: Session, new: NewUser, password_hash: str) -> User:
    now = world().clock.now()
    account = _add_account(session)
    user = User(
        id=account.user_id,
        account_id=account.user_id,
        email=new.email,
        email_key=key_of(new.email),
        password_hash=password_hash,
        name=new.full_name,
        country=new.country,
        country_code=new.country_code,
        organization_id=new_id(session),
        organization_name=new.full_name,
        policy=new_id(session),
        is_active=False,
        is_verified=False,
        created_at=now,
        updated_at=now,
    )
    session.add(user)
    session.flush()
    return user


def log_in(sent: NewLogin) -> str:
    """Check the password, and return the verification token of the login that begins."""
    with transaction() as session:
        user = session.scalars(select(User).where(User.email_key == key_of(sent.email))).one_or_none()
        unhashed = None if user is None else account_of(session, user).password
    if not _is_password_of(user, unhashed, sent.password) or user is None:
        raise unspecified_refusal(
            int(assumption("wrong_password_error")), "The e-mail address or the password is wrong."
        )
    with transaction() as session:
        return begin_login(session, user)


def _is_password_of(user: User | None, unhashed: str | None, sent: str) -> bool:
    stored = None if user is None else user.password_hash
    is_right = check_password_hash(_ANY_HASH if stored is None else stored, sent)
    if stored is None:
        return unhashed is not None and hmac.compare_digest(unhashed.encode(), sent.encode())
    return is_right


def account_of(session: Session, user: User) -> Account:
    return session.get_one(Account, user.account_id)
