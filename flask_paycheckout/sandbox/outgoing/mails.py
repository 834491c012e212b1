"""Mails that the service sends: kept for tests to read, and delivered over SMTP when configured.

A mail is stored in the transaction of the event that it reports. It is delivered after the commit, with no transaction
open, and tried again when the server did not accept it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from smtplib import SMTP, SMTPConnectError, SMTPException
from threading import Event, Timer
from typing import Any

from flask import current_app
from sqlalchemy import ColumnElement, ForeignKey, String, Text, delete, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.outgoing.claims import claim_next
from flask_paycheckout.sandbox.wire.envelope import iso
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import Table, ordered_text, rows_changed, transaction

KEPT = 1000
"""The number of mails that are kept."""
MAX_ATTEMPTS = 3
"""Attempts to deliver a mail before it is given up."""
LEASE = timedelta(seconds=30)
"""How long an attempt claims a mail, and therefore the time between two attempts."""

LISTED = "listed"
WAITING = "waiting"
SENT = "sent"
FAILED = "failed"

_SWEEP_EVERY = 100
_MAX_AT_ONCE = 50


class Mail(Table):
    __tablename__ = "mail"

    number: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("account.user_id"))
    """The account that it was sent for."""
    to: Mapped[str] = mapped_column("recipient", Text)
    address: Mapped[str] = mapped_column(ordered_text(), index=True)
    """The recipient in lower case, for look-ups."""
    subject: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    otp: Mapped[str | None] = mapped_column(String(20))
    sent_at: Mapped[datetime]
    state: Mapped[str] = mapped_column(String(10), index=True)
    """`listed` when there is no SMTP server; else `waiting`, `sent` or `failed`."""
    attempts: Mapped[int]
    claimed_until: Mapped[datetime | None]


@dataclass(frozen=True, repr=False)
class ClaimedMail:
    """A claimed mail, to be sent without a transaction. It has no repr, because its text is secret."""

    number: int
    to: str
    subject: str
    text: str


def store_mail(session: Session, user_id: str, to: str, subject: str, text: str, otp: str | None = None) -> None:
    """Store a mail to an account's user in the current transaction."""
    mail = Mail(
        user_id=user_id,
        to=to,
        address=to.casefold(),
        subject=subject,
        text=text,
        otp=otp,
        sent_at=world().clock.now(),
        state=LISTED if world().send_mail is None else WAITING,
        attempts=0,
    )
    session.add(mail)
    session.flush()
    if mail.number % _SWEEP_EVERY == 0:
        session.execute(delete(Mail).where(Mail.number <= mail.number - KEPT))


def list_mails(session: Session, *conditions: ColumnElement[bool], to: str | None = None) -> list[dict[str, Any]]:
    """Mails to one recipient or to all, newest first, as the control interface shows them."""
    wanted = select(Mail).where(*conditions).order_by(Mail.number.desc()).limit(KEPT)
    if to is not None:
        wanted = wanted.where(Mail.address == to.casefold())
    return [
        {"to": mail.to, "subject": mail.subject, "text": mail.text, "otp": mail.otp, "sentAt": iso(mail.sent_at)}
        for mail in session.scalars(wanted)
    ]


def deliver_mails() -> int:
    """Deliver waiting mails over SMTP; must be called outside of a transaction.

    :return: how many the server accepted."""
    send = world().send_mail
    if send is None:
        return 0
    taken = 0
    for _ in range(_MAX_AT_ONCE):
        letter = _claim_next()
        if letter is None:
            break
        try:
            send(letter.to, letter.subject, letter.text)
        except OSError as failed:
            # The server may be down, and the caller would wait for it again with each mail.
            _give_up_in_the_end(letter, failed)
            break
        _mark(Mail.number == letter.number, SENT)
        taken += 1
    return taken


def _claim_next() -> ClaimedMail | None:
    with transaction() as session:
        waiting = [Mail.state == WAITING]
        mail = claim_next(session, Mail, Mail.number, waiting, [Mail.number], LEASE, attempts=Mail.attempts + 1)
        return None if mail is None else ClaimedMail(mail.number, mail.to, mail.subject, mail.text)


def _give_up_in_the_end(letter: ClaimedMail, failed: OSError) -> None:
    current_app.logger.warning("A mail could not be handed to the SMTP server (%s).", type(failed).__name__)
    _mark((Mail.number == letter.number) & (Mail.attempts >= MAX_ATTEMPTS), FAILED)


def _mark(which: ColumnElement[bool], state: str) -> None:
    with transaction() as session:
        rows_changed(session, update(Mail).where(which, Mail.state == WAITING).values(state=state))


TIME_BUDGET = 5.0
"""Seconds that sending a mail may take."""
SENDER = "payments-sandbox@localhost"
_GREETING = 220
_MAX_PORT = 65535


class SmtpAddressError(ValueError):
    """The address of the SMTP server is no HOST:PORT."""


def read_address(text: str) -> tuple[str, int]:
    """Parse an address such as `mail.example:25` or `[::1]:1025` into host and port."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) <= _MAX_PORT or " " in text:
        raise SmtpAddressError(f"{text!r} is no SMTP server; write it as HOST:PORT, for instance localhost:1025.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def make_mail_sender(address: str, budget: float = TIME_BUDGET) -> Callable[[str, str, str], None]:
    """A function `send(to, subject, text)`, which raises OSError when the server did not accept the mail."""
    server = read_address(address)

    def send(to: str, subject: str, text: str) -> None:
        with closing(socket.create_connection(server, timeout=budget)) as line:
            # Limits the whole conversation; the socket's own timeout starts anew with every byte received.
            expired = Event()
            alarm = Timer(budget, _shut, [line, expired])
            alarm.start()
            try:
                _hand_over(line, expired, _message(to, subject, text), to)
            except (SMTPException, ValueError) as refused:
                # Without the server's message, which may quote the mail.
                raise ConnectionError(f"the SMTP server did not take it ({type(refused).__name__})") from None
            finally:
                alarm.cancel()

    return send


def _hand_over(line: socket.socket, expired: Event, message: EmailMessage, to: str) -> None:
    # With our own host name given, because looking it up may be slow.
    with closing(SMTP(local_hostname="localhost")) as talk:
        talk.sock = line
        code, _ = talk.getreply()
        if code != _GREETING:
            raise SMTPConnectError(code, "no greeting")
        talk.send_message(message, SENDER, [to])
        if expired.is_set():
            # The connection was closed by the alarm; a truncated reply can look complete.
            raise TimeoutError("the time for this mail was over before the server had taken it")
        # The server has accepted the mail, so errors no longer matter.
        with suppress(OSError):
            talk.quit()


def _message(to: str, subject: str, text: str) -> EmailMessage:
    if "=?" in to:
        # An encoded word (RFC 2047). Its content would be decoded, which could end the header.
        raise ValueError("coded words are no part of an address")
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = SENDER, to, subject
    message.set_content(text)
    return message


def _shut(line: socket.socket, expired: Event) -> None:
    expired.set()
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
