"""Sending of a mail over SMTP, without TLS or login, within a few seconds in total."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing, suppress
from email.message import EmailMessage
from smtplib import SMTP, SMTPConnectError, SMTPException
from threading import Event, Timer

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
