"""The table of accounts, to which nearly all other rows belong."""

from __future__ import annotations

from sqlalchemy import JSON
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.world.database import Table


class Account(Table):
    """The account of a merchant."""

    __tablename__ = "account"

    user_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    """The tester's name for it; the client id for an account that registered."""
    client_id: Mapped[str] = mapped_column(unique=True)
    client_secret: Mapped[str]
    webhook_url: Mapped[str | None]
    """Where its webhooks go; None for nowhere."""
    organization_id: Mapped[str]
    organization_name: Mapped[str]
    policy: Mapped[str]
    checkout_enabled: Mapped[bool] = mapped_column(default=True)
    switched: Mapped[dict[str, bool]] = mapped_column(JSON, default=dict)
    """The payment methods and conversions that were switched on or off, by code."""
    password: Mapped[str | None]
    access_token: Mapped[str | None] = mapped_column(unique=True)
    """Both as the tester reads them; None for an account that registered. This token never expires."""
