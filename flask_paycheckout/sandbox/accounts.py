"""The merchant's account with the service: its client credentials and what it may do."""

from __future__ import annotations

import secrets

from sqlalchemy import String
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.database import Table
from flask_paycheckout.sandbox.ids import new_id

CLIENT_ID = "sandbox-client"
CLIENT_SECRET = "sandbox-secret-0123456789abcdef"  # noqa: S105 - published on purpose, it guards play money
EMAIL = "merchant@example.com"
PASSWORD = "sandbox-password"  # noqa: S105
ACCESS_TOKEN = "sandbox-access-token"  # noqa: S105
USER_ID = "5a6d00000000000000000001"


class Account(Table):
    __tablename__ = "account"

    user_id: Mapped[str] = mapped_column(String(24), primary_key=True)
    client_id: Mapped[str] = mapped_column(String(80), unique=True)
    client_secret: Mapped[str] = mapped_column(String(80))
    checkout_enabled: Mapped[bool]


def add_start_account(session: Session) -> None:
    """The account that works at once."""
    session.add(Account(user_id=USER_ID, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, checkout_enabled=True))


def add_account(session: Session) -> Account:
    """An account of its own for a user who registers, with client credentials that nobody has yet."""
    user_id = new_id(session)
    account = Account(
        user_id=user_id,
        client_id=f"client-{user_id}",
        client_secret=secrets.token_urlsafe(32),
        checkout_enabled=True,
    )
    session.add(account)
    session.flush()
    return account
