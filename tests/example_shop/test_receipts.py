"""One receipt for every paid order: on the owner's page, or sent to a mail server that may be down for a while."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING
from unittest.mock import MagicMock, call

import pytest

from example_shop.database import db
from example_shop.payments import paycheckout
from example_shop.receipts import Letter
from flask_paycheckout import Pay
from tests.example_shop.conftest import Owner, Payments, Shopper, rows, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from flask_paycheckout.testing import Sandbox


def letters(shop: Flask) -> list[tuple[str, bool]]:
    """The address of each letter, and whether it was sent."""
    return [(letter.address, letter.posted_at is not None) for letter in rows(shop, Letter)]


def test_a_customer_who_has_not_paid_is_reminded_and_a_request_is_no_order(
    shop: Flask, shopper: Shopper, payments: Payments
) -> None:
    order_id = shopper.orders(first_snow=1)
    shopper.starts_to_pay(order_id)
    with shop.app_context():
        request = paycheckout.request(Pay("250.00", "USD"), title="Weather for a wedding")
        request_id = request.order_id
        db.session.commit()
        checkout_id = paycheckout.start(request_id).checkout_id
    payments.sandbox.pay(checkout_id)
    payments.passes(24 * 60)
    with shop.app_context():
        assert paycheckout.order_status(request_id) == "paid"
    [letter] = rows(shop, Letter)
    assert (letter.order_id, letter.subject) == (order_id, f"Not paid yet: order {order_id}")
    assert "/paycheckout/orders/" in letter.text


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
    [checkout] = rows(shop, paycheckout.Checkout)
    payment = checkout.payment
    assert f"You paid:    {payment.paid}\n" in page
    assert f"By:          {payment.bank_name}\n" in page
    assert f"Its fee:     {payment.fee.amount:f} USD\n" in page
    assert "We received: 60.35 USD\n" in page
    assert "At the rate" not in page, "nothing was exchanged"
    assert f"On:          {payment.completed_at:%d %b %Y, %H:%M} UTC\n" in page
    assert "http://localhost/paycheckout/orders/" in page
    assert "Your receipt goes to ada@example.com." in shopper.sees(f"/orders/{order_id}")


@pytest.fixture
def mail_server(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """Takes the place of every mail server that the shop connects to."""
    server = MagicMock()
    server.connect.return_value = server.__enter__.return_value = server
    monkeypatch.setattr("smtplib.SMTP", server.connect)
    return server


def test_a_mail_server_that_is_away_gets_the_letter_later(
    make_shop: Callable[..., Flask], paycheckout_sandbox: Sandbox, mail_server: MagicMock
) -> None:
    mail_server.connect.side_effect = [ConnectionRefusedError(), mail_server]
    shop = make_shop(MAIL_SERVER="127.0.0.1")
    order_id = Payments(Shopper(shop), paycheckout_sandbox).buys(first_snow=1)
    assert (stored(shop, order_id).state, letters(shop)) == ("paid", [("ada@example.com", False)])
    with shop.app_context():
        paycheckout.reconcile()
    [event_id] = rows(shop, Letter.event_id)
    ((letter,), _) = mail_server.send_message.call_args
    assert (letter["To"], letter["Subject"]) == ("ada@example.com", f"Your receipt for order {order_id}")
    assert letter["Message-ID"].strip() == f"<{event_id}@receipts.fair-and-foul.example>"
    assert letters(shop) == [("ada@example.com", True)]


def test_a_mail_server_must_show_its_certificate_before_it_gets_the_password(
    make_shop: Callable[..., Flask], paycheckout_sandbox: Sandbox, mail_server: MagicMock
) -> None:
    shop = make_shop(MAIL_SERVER="mail.example", MAIL_USERNAME="shop", MAIL_PASSWORD="a secret")
    Payments(Shopper(shop), paycheckout_sandbox).buys(first_snow=1)
    _, starttls, login, _ = mail_server.method_calls
    context = starttls.kwargs["context"]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert login == call.login("shop", "a secret")
