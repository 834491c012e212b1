"""The second step of a login: a verification token and its one-time password, exchanged once for an access token."""

from __future__ import annotations

import hmac
import secrets
from datetime import timedelta
from enum import Enum

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import User, Verification, digest_of
from flask_paycheckout.sandbox.outgoing.mails import store_mail
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import rows_changed


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
    token, otp = secrets.token_urlsafe(32), _new_otp()
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


def _new_otp() -> str:
    digits = int(assumption("otp_digits"))
    return f"{secrets.randbelow(10**digits):0{digits}d}"


def _otp_digest(token: str, otp: str) -> str:
    # Keyed with the token, which is not stored: a plain digest of so few digits could be reversed by brute force.
    return hmac.new(token.encode(), otp.encode(), "sha256").hexdigest()
