"""Mails: listed for the tester, and delivered over SMTP to a real little server on a socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes
from email.policy import default
from threading import Event, Thread
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.command import main
from flask_paycheckout.sandbox.levers.due import run_due
from flask_paycheckout.sandbox.outgoing.mail_sender import SmtpAddressError, make_mail_sender, read_address
from flask_paycheckout.sandbox.outgoing.mails import KEPT, LEASE, MAX_ATTEMPTS, Mail, store_mail
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import CONTROL_TOKEN, Tester
from tests.sandbox.auth.visitors import EMAIL, PASSWORD, Visitor

MOST_DROPS = 200
REPLIES = {
    "EHLO": "250 hello",
    "MAIL": "250 ok",
    "RCPT": "250 ok",
    "DATA": "354 go on",
    ".": "250 taken",
    "QUIT": "221",
}


class PostOffice:
    """A little SMTP server: one conversation after the other, until it is closed."""

    def __init__(self, **replies: str) -> None:
        self.replies = {"greeting": "220 here"} | REPLIES | replies
        self.taken: list[tuple[str, bytes]] = []
        self.conversations = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = Thread(target=self._serve)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._socket.accept()
            except OSError:
                return
            self.conversations += 1
            with line, line.makefile("rb") as heard:
                try:
                    self._converse(line, heard)
                except OSError:
                    continue

    def _converse(self, line: socket.socket, heard: Any) -> None:
        line.sendall(f"{self.replies['greeting']}\r\n".encode())
        to, mail, in_mail = "", b"", False
        for said in heard:
            if in_mail and said != b".\r\n":
                mail += said
                continue
            word = "." if in_mail else said[:4].decode().strip().upper()
            in_mail = word == "DATA"
            to = said.decode().partition("<")[2].partition(">")[0] if word == "RCPT" else to
            if word == "." and self.replies["."].startswith("250"):
                self.taken.append((to, mail))
            line.sendall(f"{self.replies.get(word, '250 fine')}\r\n".encode())


@contextmanager
def post_office(**replies: str) -> Iterator[PostOffice]:
    office = PostOffice(**replies)
    try:
        yield office
    finally:
        office.close()


def sandbox_with(smtp: str | None) -> Flask:
    return create_sandbox(control_token=CONTROL_TOKEN, smtp=smtp)


def states(app: Flask) -> list[tuple[str, int]]:
    with app.app_context(), transaction() as session:
        return [(mail.state, mail.attempts) for mail in session.query(Mail).order_by(Mail.number)]


def rests(app: Flask) -> None:
    """The machine's clock passes the time that a failed mail rests, and what is due runs."""
    clock = app.extensions["paycheckout_sandbox"].clock
    told = clock.machine
    clock.machine = lambda: told() + LEASE
    with app.app_context():
        run_due()


def test_mails_are_listed_newest_first(sandbox: Flask, tester: Tester) -> None:
    visitor = Visitor(sandbox)
    visitor.begins()
    tester.advances(minutes=1)
    visitor.begins()
    newest, oldest = visitor.mails()
    assert newest["sentAt"] > oldest["sentAt"]


def test_mails_are_listed_for_one_address_or_all(sandbox: Flask) -> None:
    visitor = Visitor(sandbox)
    visitor.registers("other@example.com")
    visitor.begins()
    assert [mail["to"] for mail in visitor.mails("OTHER@example.com")] == ["other@example.com"]
    assert [mail["to"] for mail in visitor.mails(EMAIL)] == [EMAIL]
    assert visitor.mails("nobody@example.com") == []
    listed = sandbox.test_client().get("/_sandbox/mails", headers={"X-Sandbox-Control": CONTROL_TOKEN}).get_json()
    assert [mail["to"] for mail in listed] == [EMAIL, "other@example.com"]


def test_a_reset_empties_the_mailbox(sandbox: Flask, tester: Tester) -> None:
    Visitor(sandbox).begins()
    tester.does("POST", "reset")
    assert Visitor(sandbox).mails() == []
    assert Visitor(sandbox).gets_token()


def test_the_mailbox_is_bounded(sandbox: Flask) -> None:
    with sandbox.app_context(), transaction() as session:
        for number in range(KEPT + 150):
            store_mail(session, "a@example.com", f"Mail {number}", "text")
        assert session.query(Mail).count() <= KEPT + 100
    assert Visitor(sandbox).mails("a@example.com")[0]["subject"] == f"Mail {KEPT + 149}"


def test_without_an_smtp_server_mails_are_listed_only(sandbox: Flask) -> None:
    Visitor(sandbox).begins()
    assert states(sandbox) == [("listed", 0)]


def test_a_mail_is_delivered_over_smtp_and_listed() -> None:
    with post_office() as office:
        app = sandbox_with(office.address)
        visitor = Visitor(app)
        visitor.begins()
    ((to, sent),) = office.taken
    message = message_from_bytes(sent, policy=default)
    assert (to, message["To"], message["Subject"]) == (EMAIL, EMAIL, "Your one-time password")
    assert visitor.otp() in message.get_content()
    assert states(app) == [("sent", 1)]


def test_the_answer_comes_although_the_smtp_server_is_away() -> None:
    with post_office() as office:
        away = office.address
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
        app = sandbox_with(office.address)
        Visitor(app).begins()
        for _ in range(MAX_ATTEMPTS + 2):
            rests(app)
    assert states(app) == [("failed", MAX_ATTEMPTS)]
    assert office.conversations == MAX_ATTEMPTS


def test_a_mail_that_was_refused_first_arrives_later_once() -> None:
    with post_office(**{".": "451 later"}) as office:
        app = sandbox_with(office.address)
        Visitor(app).begins()
        office.replies["."] = "250 taken"
        rests(app)
        rests(app)
    assert len(office.taken) == 1
    assert states(app) == [("sent", 2)]


def test_a_claimed_mail_is_not_sent_by_another_one_too() -> None:
    with post_office(**{".": "451 later"}) as office:
        app = sandbox_with(office.address)
        Visitor(app).begins()
        with app.app_context():
            run_due()
    assert office.conversations == 1


def test_no_transaction_is_open_while_a_mail_is_sent() -> None:
    app = sandbox_with(None)
    seen: list[int] = []

    def asks_the_sandbox(to: str, subject: str, text: str) -> None:
        seen.append(Tester(app).asks("GET", "clock").http_status)

    here = app.extensions["paycheckout_sandbox"]
    object.__setattr__(here, "send_mail", asks_the_sandbox)
    Visitor(app).begins()
    assert seen == [200]


def test_a_failure_is_logged_without_the_mails_content(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with post_office(**{".": "451 later"}) as office:
        app = sandbox_with(office.address)
        # All sandboxes of a process share one logger, and some tests silence it.
        monkeypatch.setattr(app.logger, "disabled", False)
        visitor = Visitor(app)
        visitor.begins()
    assert "could not be handed to the SMTP server" in caplog.text
    assert visitor.otp() not in caplog.text
    assert EMAIL not in caplog.text


def test_a_conversation_that_drips_is_cut_off_in_time() -> None:
    stop, drops = Event(), 0
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drips() -> None:
            nonlocal drops
            line, _ = server.accept()
            with line, suppress(OSError):
                # Ends by itself one day, so that a sender who waits for ever fails the test instead of stopping it.
                while drops < MOST_DROPS and not stop.wait(0.02):
                    line.sendall(b"220-wait\r\n")
                    drops += 1

        thread = Thread(target=drips)
        thread.start()
        send = make_mail_sender(f"127.0.0.1:{server.getsockname()[1]}", budget=0.3)
        try:
            with pytest.raises(OSError, match=r"SMTP server|time for this mail"):
                send("a@example.com", "subject", "text")
            assert drops < MOST_DROPS
        finally:
            stop.set()
            thread.join()


def test_a_name_beyond_ascii_does_not_break_the_login() -> None:
    with post_office() as office:
        app = sandbox_with(office.address)
        visitor = Visitor(app)
        assert visitor.registers("grüße@example.com").code == 200
        assert visitor.gets_token(EMAIL, PASSWORD)


@pytest.mark.parametrize(
    "address", ["", "localhost", ":25", "localhost:", "localhost:x", "localhost:0", "h:99999", "a b:25"]
)
def test_what_is_no_host_and_port_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(SmtpAddressError, match="HOST:PORT"):
        create_sandbox(smtp=address)


def test_an_ipv6_server_is_written_in_brackets() -> None:
    assert read_address("[::1]:1025") == ("::1", 1025)


def test_the_command_refuses_a_wrong_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--port", "0", "--smtp", "nowhere"]) == 2
    assert "HOST:PORT" in capsys.readouterr().err


# In base64: a line's end, and `Bcc: x@y.z`. Without a look, it is written out as a header.
@pytest.mark.parametrize("to", ["a@=?utf-8?b?DQpCY2M6IHhAeS56?=", "=?utf-8?q?a=0d=0aBcc:x@y.z?=@b.example"])
def test_no_address_becomes_another_header(to: str) -> None:
    with post_office() as office:
        with pytest.raises(ConnectionError, match="ValueError"):
            make_mail_sender(office.address)(to, "Your code", "123456")
        assert office.taken == []
