"""The merchant's account with the service: its client credentials and what it may do."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.database import Table

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
