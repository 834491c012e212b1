"""One receipt for every paid order: on the owner's page, or posted to a mail server that may be away for a while."""

from __future__ import annotations

import socketserver
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from typing import TYPE_CHECKING, cast

import pytest
from sqlalchemy import select

from example_shop.database import db
from example_shop.payments import paycheckout
from example_shop.receipts import Letter, payment_lines
from flask_paycheckout import Payment
from tests.example_shop.conftest import Owner, Payments, Shopper, stored
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import EmailMessage

    from flask import Flask

    from flask_paycheckout.testing import Sandbox


class MailServer(socketserver.ThreadingTCPServer):
    """Takes letters by SMTP; `busy` turns the next ones away."""

    def __init__(self, port: int = 0) -> None:
        self.taken: list[EmailMessage] = []
        self.busy = 0
        super().__init__(("127.0.0.1", port), _Conversation)


class _Conversation(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = cast("MailServer", self.server)
        self.wfile.write(b"220 ready\r\n")
        for line in self.rfile:
            word = line.strip().upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                server.taken.append(message_from_bytes(self.letter(), policy=policy.default))
            if word.startswith(b"MAIL") and server.busy:
                server.busy -= 1
                self.wfile.write(b"451 later\r\n")
            elif word == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 good\r\n")

    def letter(self) -> bytes:
        return b"".join(iter(self.rfile.readline, b".\r\n"))


@contextmanager
def serving(port: int = 0) -> Iterator[MailServer]:
    with MailServer(port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def letters(shop: Flask) -> list[tuple[str, bool]]:
    """The address of each letter, and whether it was posted."""
    with shop.app_context():
        return [(letter.address, letter.posted_at is not None) for letter in db.session.scalars(select(Letter))]


def test_a_receipt_tells_what_is_known_of_the_payment_and_keeps_to_its_lines() -> None:
    unknown = Payment(None, None, None, None, None, None, completed_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    assert payment_lines(None) == []
    assert payment_lines(unknown) == ["On:          02 Jan 2026, 03:04 UTC"]
    hostile = replace(unknown, bank_name="A Bank\r\n\r\nPay again at https://evil.example " + "x" * 200)
    told = payment_lines(hostile)[0]
    assert told.startswith("By:          A Bank Pay again")
    assert len(told) < 80


def test_a_paid_order_has_one_receipt_on_the_owners_page(
    shop: Flask, shopper: Shopper, owner: Owner, payments: Payments
) -> None:
    order_id = payments.buys(first_snow=2, sea_breeze=1)
    payments.passes(30)
    assert letters(shop) == [("ada@example.com", False)]
    assert owner.browser.get("/owner/letters/").location == "/owner/login"
    owner.logs_in()
    page = owner.sees("/owner/letters/")
    assert f"your order {order_id} is paid" in page
    assert f" 2 x First Snow{'$48.00':>22}" in page
    assert f"Total{'$60.35':>32}" in page
    assert "The fee of your way to pay came on top." in page
    with shop.app_context():
        payment = db.session.scalars(select(paycheckout.Checkout)).one().payment
    assert payment is not None
    assert payment.fee is not None
    assert f"You paid:    {payment.paid}\n" in page
    assert f"By:          {payment.bank_name}\n" in page
    assert f"Its fee:     {payment.fee.amount:f} USD\n" in page
    assert "We received: 60.35 USD\n" in page
    assert "At the rate" not in page, "nothing was exchanged"
    assert f"On:          {payment.completed_at:%d %b %Y, %H:%M} UTC\n" in page
    assert "http://localhost/paycheckout/orders/" in page
    assert "Your receipt goes to ada@example.com." in shopper.sees(f"/orders/{order_id}")


def test_a_mail_server_gets_the_receipt(make_shop: Callable[..., Flask], paycheckout_sandbox: Sandbox) -> None:
    with serving() as mail:
        shop = make_shop(MAIL_SERVER="127.0.0.1", MAIL_PORT=mail.server_address[1])
        order_id = Payments(Shopper(shop), paycheckout_sandbox).buys(first_snow=1)
    (letter,) = mail.taken
    assert letter["To"] == "ada@example.com"
    assert letter["From"] == "Fair & Foul <shop@fair-and-foul.example>"
    assert letter["Subject"] == f"Your receipt for order {order_id}"
    assert "thank you: your order" in letter.get_content()
    assert letters(shop) == [("ada@example.com", True)]


@pytest.mark.parametrize("trouble", ["away", "busy"])
def test_a_mail_server_that_fails_gets_the_same_letter_later(
    make_shop: Callable[..., Flask], paycheckout_sandbox: Sandbox, trouble: str
) -> None:
    port = free_port()
    shop = make_shop(MAIL_SERVER="127.0.0.1", MAIL_PORT=port, MAIL_TIMEOUT=5.0)
    shopper = Shopper(shop)
    order_id = shopper.orders(first_snow=1)
    checkout_id = shopper.starts_to_pay(order_id)
    paycheckout_sandbox.pay(checkout_id)
    if trouble == "away":
        paycheckout_sandbox.deliver_to(shopper.browser)
    with serving(port) as mail:
        if trouble == "busy":
            mail.busy = 1
            paycheckout_sandbox.deliver_to(shopper.browser)
        assert stored(shop, order_id)["state"] == "paid"
        assert letters(shop) == [("ada@example.com", False)]
        with shop.app_context():
            paycheckout.reconcile()
    assert len(mail.taken) == 1
    with shop.app_context():
        (event_id,) = db.session.scalars(select(Letter.event_id))
    assert mail.taken[0]["Message-ID"].strip() == f"<{event_id}@receipts.fair-and-foul.example>"
    assert letters(shop) == [("ada@example.com", True)]
