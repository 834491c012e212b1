"""Sends a mail over SMTP: one plain conversation, within a few seconds from connecting to the server's last word."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing, suppress
from email.message import EmailMessage
from smtplib import SMTP, SMTPConnectError, SMTPException
from threading import Event, Timer

#: Seconds that one mail may take.
TIME_BUDGET = 5.0
SENDER = "payments-sandbox@localhost"
_GREETING = 220
_MAX_PORT = 65535


class SmtpAddressError(ValueError):
    """What was given as the SMTP server is no HOST:PORT."""


def read_address(text: str) -> tuple[str, int]:
    """Host and port of `mail.example:25` or `[::1]:1025`."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) <= _MAX_PORT or " " in text:
        raise SmtpAddressError(f"{text!r} is no SMTP server; write it as HOST:PORT, for instance localhost:1025.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def make_mail_sender(address: str, budget: float = TIME_BUDGET) -> Callable[[str, str, str], None]:
    """A sender called as `(to, subject, text)`; an OSError says that the server did not take the mail."""
    server = read_address(address)

    def send(to: str, subject: str, text: str) -> None:
        with closing(socket.create_connection(server, timeout=budget)) as line:
            # The socket's own timeout starts anew with every byte that drips in; this one does not.
            expired = Event()
            alarm = Timer(budget, _shut, [line, expired])
            alarm.start()
            try:
                _hand_over(line, expired, _message(to, subject, text), to)
            except (SMTPException, ValueError) as refused:
                # The server's words may quote the mail, so only the kind of refusal is passed on.
                raise ConnectionError(f"the SMTP server did not take it ({type(refused).__name__})") from None
            finally:
                alarm.cancel()

    return send


def _hand_over(line: socket.socket, expired: Event, message: EmailMessage, to: str) -> None:
    # Our own name is given, because looking it up may take longer than everything else.
    with closing(SMTP(local_hostname="localhost")) as talk:
        talk.sock = line
        code, _ = talk.getreply()
        if code != _GREETING:
            raise SMTPConnectError(code, "no greeting")
        talk.send_message(message, SENDER, [to])
        if expired.is_set():
            # Cut off in the middle of a line, a reply looks whole.
            raise TimeoutError("the time for this mail was over before the server had taken it")
        # It has the mail now; how it says good-bye changes nothing.
        with suppress(OSError):
            talk.quit()


def _message(to: str, subject: str, text: str) -> EmailMessage:
    if "=?" in to:
        # A coded word. Whatever stands in it would be written out, the end of the header too.
        raise ValueError("coded words are no part of an address")
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = SENDER, to, subject
    message.set_content(text)
    return message


def _shut(line: socket.socket, expired: Event) -> None:
    expired.set()
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
