"""Mails: listed for the tester, and delivered over SMTP to a real little server on a socket."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes
from email.policy import default
from socketserver import StreamRequestHandler, TCPServer
from threading import Thread

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.control.sender import run_due
from flask_paycheckout.sandbox.outgoing.mails import (
    KEPT,
    LEASE,
    MAX_ATTEMPTS,
    Mail,
    SmtpAddressError,
    make_mail_sender,
    read_address,
    store_mail,
)
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import CONTROL_TOKEN, Tester
from tests.sandbox.auth.visitors import EMAIL, PASSWORD, Visitor

MOST_DROPS = 200
REPLIES = {"greeting": "220 here", "DATA": "354 go on", "QUIT": "221"}


class PostOffice(TCPServer):
    """A little SMTP server: one conversation after the other, until it is closed."""

    def __init__(self, replies: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.replies = REPLIES | replies
        self.taken: list[tuple[str, bytes]] = []
        self.conversations = self.drops = 0
        self.smtp = f"127.0.0.1:{self.server_address[1]}"


class Conversation(StreamRequestHandler):
    server: PostOffice

    def handle(self) -> None:
        self.server.conversations += 1
        with suppress(OSError):
            while self._answer("greeting").startswith("220-") and self.server.drops < MOST_DROPS:
                # Ends by itself one day, so that a sender who waits for ever fails the test instead of stopping it.
                self.server.drops += 1
                time.sleep(0.02)
            to, mail, in_mail = "", b"", False
            for said in self.rfile:
                if in_mail and said != b".\r\n":
                    mail += said
                    continue
                word = "." if in_mail else said[:4].decode().strip().upper()
                in_mail = word == "DATA"
                to = said.decode().partition("<")[2].partition(">")[0] if word == "RCPT" else to
                if self._answer(word).startswith("250") and word == ".":
                    self.server.taken.append((to, mail))

    def _answer(self, word: str) -> str:
        reply = self.server.replies.get(word, "250 fine")
        self.wfile.write(f"{reply}\r\n".encode())
        return reply


@contextmanager
def post_office(**replies: str) -> Iterator[PostOffice]:
    with PostOffice(replies) as office:
        thread = Thread(target=office.serve_forever, args=(0.02,))
        thread.start()
        yield office
        office.shutdown()
        thread.join()


def sandbox_with(smtp: str | None) -> Flask:
    return create_sandbox(control_token=CONTROL_TOKEN, smtp=smtp, send_in_call=True)


def states(app: Flask) -> list[tuple[str, int]]:
    with app.app_context(), transaction() as session:
        return [(mail.state, mail.attempts) for mail in session.query(Mail).order_by(Mail.number)]


def rests(app: Flask) -> None:
    """The machine's clock passes the time that a failed mail rests, and what is due runs."""
    clock = world(app).clock
    told = clock.machine
    clock.machine = lambda: told() + LEASE
    with app.app_context():
        run_due()


def test_mails_are_listed_for_one_address_or_all_newest_first(sandbox: Flask, tester: Tester) -> None:
    visitor = Visitor(sandbox)
    visitor.registers("other@example.com")
    visitor.begins()
    assert [mail["to"] for mail in visitor.mails("OTHER@example.com")] == ["other@example.com"]
    assert visitor.mails("nobody@example.com") == []
    assert [mail["to"] for mail in tester.does("GET", "mails")] == [EMAIL, "other@example.com"]
    assert states(sandbox) == [("listed", 0)] * 2


def test_the_mailbox_is_bounded(sandbox: Flask) -> None:
    with sandbox.app_context(), transaction() as session:
        for number in range(KEPT + 150):
            store_mail(session, USER_ID, "a@example.com", f"Mail {number}", "text")
        assert session.query(Mail).count() <= KEPT + 100
    assert Visitor(sandbox).mails("a@example.com")[0]["subject"] == f"Mail {KEPT + 149}"


def test_a_mail_is_delivered_over_smtp_and_listed() -> None:
    with post_office() as office:
        app = sandbox_with(office.smtp)
        visitor = Visitor(app)
        visitor.begins()
    ((to, sent),) = office.taken
    message = message_from_bytes(sent, policy=default)
    assert (to, message["To"], message["Subject"]) == (EMAIL, EMAIL, "Your one-time password")
    assert visitor.otp() in message.get_content()
    assert states(app) == [("sent", 1)]


def test_the_answer_comes_although_the_smtp_server_is_away() -> None:
    with post_office() as office:
        away = office.smtp
    app = sandbox_with(away)
    assert Visitor(app).gets_token()
    assert states(app) == [("waiting", 1)]


@pytest.mark.parametrize(
    "replies",
    [{"greeting": "554 busy"}, {"RCPT": "550 nobody"}, {".": "451 later"}, {"MAIL": "bad"}],
    ids=["greeting", "recipient", "data", "no-smtp"],
)
def test_a_refused_mail_is_tried_again_and_given_up_in_the_end(replies: dict[str, str]) -> None:
    with post_office(**replies) as office:
        app = sandbox_with(office.smtp)
        Visitor(app).begins()
        for _ in range(MAX_ATTEMPTS + 2):
            rests(app)
    assert states(app) == [("failed", MAX_ATTEMPTS)]
    assert office.conversations == MAX_ATTEMPTS


def test_a_mail_that_was_refused_first_rests_and_arrives_later_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with post_office(**{".": "451 later"}) as office:
        app = sandbox_with(office.smtp)
        # All sandboxes of a process share one logger, and some tests silence it.
        monkeypatch.setattr(app.logger, "disabled", False)
        visitor = Visitor(app)
        visitor.begins()
        with app.app_context():
            run_due()
        assert office.conversations == 1
        office.replies["."] = "250 taken"
        rests(app)
        rests(app)
    assert len(office.taken) == 1
    assert states(app) == [("sent", 2)]
    assert "could not be handed to the SMTP server" in caplog.text
    assert not [hidden for hidden in (visitor.otp(), EMAIL) if hidden in caplog.text]


def test_no_transaction_is_open_while_a_mail_is_sent() -> None:
    app = sandbox_with(None)
    seen: list[int] = []

    def asks_the_sandbox(to: str, subject: str, text: str) -> None:
        seen.append(Tester(app).asks("GET", "clock").http_status)

    object.__setattr__(world(app), "send_mail", asks_the_sandbox)
    Visitor(app).begins()
    assert seen == [200]


def test_a_conversation_that_drips_is_cut_off_in_time() -> None:
    # Each line says that another one follows.
    with post_office(greeting="220-wait") as office:
        with pytest.raises(OSError, match=r"SMTP server|time for this mail"):
            make_mail_sender(office.smtp, budget=0.3)("a@example.com", "subject", "text")
        assert office.drops < MOST_DROPS


def test_a_name_beyond_ascii_does_not_break_the_login() -> None:
    with post_office() as office:
        visitor = Visitor(sandbox_with(office.smtp))
        assert visitor.registers("grüße@example.com").code == 200
        assert visitor.gets_token(EMAIL, PASSWORD)


@pytest.mark.parametrize("address", ["", "localhost", ":25", "localhost:x", "localhost:0", "h:99999", "a b:25"])
def test_what_is_no_host_and_port_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(SmtpAddressError, match="HOST:PORT"):
        create_sandbox(smtp=address)


def test_an_ipv6_server_is_written_in_brackets() -> None:
    assert read_address("[::1]:1025") == ("::1", 1025)


# In base64: a line's end, and `Bcc: x@y.z`. Without a look, it is written out as a header.
@pytest.mark.parametrize("to", ["a@=?utf-8?b?DQpCY2M6IHhAeS56?=", "=?utf-8?q?a=0d=0aBcc:x@y.z?=@b.example"])
def test_no_address_becomes_another_header(to: str) -> None:
    with post_office() as office:
        with pytest.raises(ConnectionError, match="ValueError"):
            make_mail_sender(office.smtp)(to, "Your code", "123456")
        assert office.taken == []
