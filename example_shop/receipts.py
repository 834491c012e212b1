"""A receipt for every paid order, and reminders: written exactly once, and sent by SMTP with a mail server.

Writing and sending are two receivers. The first stores the letter in the transaction that marks the receiver as run.
The second passes it to the mail server, and is called again if that fails: the letter's Message-ID is made from the
`event_id`, so that a second copy can be recognised. A page of the owner lists the letters, also without a mail server.
"""

from __future__ import annotations

import smtplib
import ssl
from datetime import datetime
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from flask import render_template
from sqlalchemy import ForeignKey, String, Text, select
from sqlalchemy.orm import Mapped, mapped_column

from example_shop import owner
from example_shop.database import Model, Moment, Order, db, now
from example_shop.payments import due_now, paid_order, paycheckout
from flask_paycheckout import order_paid, payment_reminder

if TYPE_CHECKING:
    from flask import Flask

    from flask_paycheckout import CheckoutMixin


class Letter(Model):
    """A letter about an order; its `kind`, receipt or reminder, is also the name of its template."""

    __tablename__ = "letters"

    event_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), index=True)
    kind: Mapped[str] = mapped_column(String(10))
    address: Mapped[str] = mapped_column(String(200))
    subject: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    written_at: Mapped[datetime] = mapped_column(Moment, default=now)
    posted_at: Mapped[datetime | None] = mapped_column(Moment)


def write(kind: str, order: Order, event_id: str, **facts: Any) -> None:
    """Store a letter; the first line of its template is the subject."""
    page = render_template(f"receipts/{kind}.txt", order=order, status_url=paycheckout.status_url(order.id), **facts)
    subject, _, text = page.partition("\n\n")
    db.session.add(
        Letter(event_id=event_id, order_id=order.id, kind=kind, address=order.email, subject=subject, text=text)
    )


def write_receipt(app: Flask, *, order_id: str, checkout: CheckoutMixin, event_id: str, **extra: Any) -> None:
    order = paid_order(order_id, checkout)
    # Pass the sum of all payments if several have paid the order.
    balance = None if checkout.excess is None else paycheckout.balance(order_id)
    write("receipt", order, event_id, payment=checkout.payment, balance=balance)


def write_reminder(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    order = db.session.get_one(Order, order_id)
    write("reminder", order, event_id, due=due_now(order))


def post_letter(app: Flask, *, event_id: str, **extra: Any) -> None:
    message = EmailMessage()
    # Use another context, and so another session, to hold no lock while the mail server is called.
    with app.app_context():
        letter = db.session.get_one(Letter, event_id)
        message["From"], message["To"], message["Subject"] = app.config["MAIL_SENDER"], letter.address, letter.subject
        message["Date"], message["Message-ID"] = letter.written_at, f"<{event_id}@receipts.fair-and-foul.example>"
        message.set_content(letter.text)
    with smtplib.SMTP(app.config["MAIL_SERVER"], app.config["MAIL_PORT"], timeout=app.config["MAIL_TIMEOUT"]) as server:
        if app.config["MAIL_USERNAME"]:
            # Without this context, no certificate is verified, and the password could go to another server.
            server.starttls(context=ssl.create_default_context())
            server.login(app.config["MAIL_USERNAME"], app.config["MAIL_PASSWORD"])
        server.send_message(message)
    db.session.get_one(Letter, event_id).posted_at = now()


@owner.blueprint.get("/letters/")
def letters() -> str:
    newest = db.session.scalars(select(Letter).order_by(Letter.written_at.desc()).limit(100)).all()
    return render_template("receipts/letters.html", letters=newest)


def receipt_of(order: Order) -> Letter | None:
    return db.session.scalar(select(Letter).filter_by(order_id=order.id, kind="receipt"))


def init_app(app: Flask) -> None:
    for signal, write_letter in ((order_paid, write_receipt), (payment_reminder, write_reminder)):
        signal.connect(write_letter, sender=app)
        if app.config["MAIL_SERVER"]:
            signal.connect(post_letter, sender=app)
    app.add_template_global(receipt_of)
