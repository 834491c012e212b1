"""Mails that the service "sends": kept for tests and people to read, and delivered nowhere."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp
from flask_paycheckout.sandbox.world.context import current_time
from flask_paycheckout.sandbox.world.database import AccountId, Serial, Table, sweep


class Mail(Table):
    __tablename__ = "mail"

    number: Mapped[Serial]
    user_id: Mapped[AccountId]
    """The account of the user to whom it was sent."""
    to: Mapped[str] = mapped_column("recipient")
    address: Mapped[str] = mapped_column(index=True)
    """The recipient in lower case, for look-ups."""
    subject: Mapped[str]
    text: Mapped[str]
    otp: Mapped[str | None]
    sent_at: Mapped[datetime]


class MailRecord(Record):
    """A mail as the control interface shows it."""

    to: str
    subject: str
    text: str
    otp: str | None
    sent_at: Timestamp


def store_mail(session: Session, user_id: str, to: str, subject: str, text: str, otp: str | None = None) -> None:
    """Store a mail to an account's user in the current transaction."""
    mail = Mail(
        user_id=user_id,
        to=to,
        address=to.casefold(),
        subject=subject,
        text=text,
        otp=otp,
        sent_at=current_time(),
    )
    session.add(mail)
    session.flush()
    sweep(session, Mail.number, mail.number)
