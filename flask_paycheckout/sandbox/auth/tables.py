"""Tables of users, logins and access tokens. Secrets of users are stored as digests."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column, relationship

from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.database import AccountId, Table


class User(Table):
    __tablename__ = "service_user"

    id: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[AccountId]
    """The account that the user acts for. Its owner has the account's id; an invited user has another id."""
    account: Mapped[Account] = relationship()
    email: Mapped[str]
    email_key: Mapped[str] = mapped_column(unique=True)
    """The address in the form in which addresses are compared."""
    password_digest: Mapped[str]
    """A fast digest: it guards play money, and logins of strangers must cost little."""
    name: Mapped[str]
    country: Mapped[str | None]
    country_code: Mapped[str | None]
    is_active: Mapped[bool] = mapped_column(default=True)
    """False until the first login was confirmed."""
    is_verified: Mapped[bool] = mapped_column(default=True)
    """Whether an external partner has verified the user's identity."""
    invited_at: Mapped[datetime | None]
    invitation_expires_at: Mapped[datetime | None]
    """Both None for a user who registered."""
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class Verification(Table):
    """A login that waits for its one-time password; one that was used is kept until it expires."""

    __tablename__ = "verification"

    token_digest: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    otp_digest: Mapped[str]
    attempts: Mapped[int]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]


class AccessToken(Table):
    """An access token from a login."""

    __tablename__ = "access_token"

    token_digest: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[AccountId]
    expires_at: Mapped[datetime | None] = mapped_column(index=True)
    """None for a token that never expires."""


def digest_of(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def password_digest(user_id: str, password: str) -> str:
    return digest_of(f"{user_id}:{password}")
