"""Where the webhooks of each account go."""

from __future__ import annotations

from sqlalchemy import ForeignKey, Text, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.database import Table


class WebhookAddress(Table):
    """The address of one account; an account without a row, or without a URL, gets no webhooks."""

    __tablename__ = "webhook_address"

    user_id: Mapped[str] = mapped_column(ForeignKey("account.user_id"), primary_key=True)
    url: Mapped[str | None] = mapped_column(Text)


def webhook_url(session: Session, user_id: str) -> str | None:
    return session.execute(select(WebhookAddress.url).where(WebhookAddress.user_id == user_id)).scalar_one_or_none()


def set_webhook_url(session: Session, user_id: str, url: str | None) -> None:
    """Set an account's address; None for nowhere. The caller has locked the account."""
    session.merge(WebhookAddress(user_id=user_id, url=url))
    session.flush()
