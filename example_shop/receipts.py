"""A receipt for every paid order, and reminders: written exactly once, and sent by SMTP with a mail server.

Writing and sending are two receivers. The first stores the letter in the transaction that marks the receiver as run.
The second passes it to the mail server, and is called again when that fails: the letter's Message-ID is made from the
`event_id`, so that a second copy can be recognised. Without a mail server, a page of the owner lists the letters.
"""

from __future__ import annotations

import smtplib
import ssl
from datetime import datetime
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from flask import Blueprint, render_template_string
from sqlalchemy import ForeignKey, String, Text, select
from sqlalchemy.orm import Mapped, mapped_column

from example_shop import owner
from example_shop.database import Model, Moment, Order, db
from example_shop.hooks import hooks, now
from example_shop.payments import due_now, paid_order, paycheckout
from example_shop.products import show_money
from flask_paycheckout import order_paid, payment_reminder

if TYPE_CHECKING:
    from decimal import Decimal

    from flask import Flask

    from flask_paycheckout import CheckoutMixin, Payment

_RECEIPT = "Your receipt for order {}"

blueprint = Blueprint("receipts", __name__, url_prefix="/owner/letters")
blueprint.before_request(owner.ask_for_password)


class Letter(Model):
    """A letter about an order: its receipt, or a reminder to pay."""

    __tablename__ = "letters"

    event_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), index=True)
    address: Mapped[str] = mapped_column(String(200))
    subject: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    written_at: Mapped[datetime] = mapped_column(Moment)
    posted_at: Mapped[datetime | None] = mapped_column(Moment)


def receipt_text(order: Order, payment: Payment | None, status_url: str, paid: Decimal | None) -> str:
    """The text of the letter.

    :param payment: the checkout's `payment`, any part of which may be missing.
    :param paid: the sum of all payments, when several have paid the order.
    """
    # Narrow enough for a phone.
    lines = [f"{line.quantity:>2} x {line.name:<22}{show_money(line.total):>10}" for line in order.lines]
    return "\n".join(
        [
            f"Dear {order.name},",
            "",
            f"thank you: your order {order.id} is paid.",
            "",
            *lines,
            f"{'Total':<27}{show_money(order.total):>10}",
            "",
            *payment_lines(payment),
            *([f"{'In all:':<13}{show_money(paid)}"] if paid else []),
            *(["", "The fee of your way to pay came on top."] if order.consigned else []),
            "",
            "See how it stands:",
            status_url,
            "",
            "Fair & Foul, weather by the jar",
        ]
    )


def payment_lines(payment: Payment | None) -> list[str]:
    """The lines on the amount, the method and the fee; none for a payment from before these were stored."""
    if payment is None:
        return []
    facts = {
        "You paid": payment.paid,
        "By": payment.bank_name or payment.method,
        "Its fee": payment.fee and payment.fee.amount and f"{payment.fee.amount:f} {payment.fee.currency or ''}",
        "We received": payment.received if payment.received != payment.paid else None,
        "At the rate": f"{payment.rate:f}" if payment.rate and payment.rate != 1 else None,
        "On": payment.completed_at.strftime("%d %b %Y, %H:%M UTC"),
    }
    # The service's texts are shortened, and cannot break the line.
    return [f"{label + ':':<13}{' '.join(str(value).split())[:60]}" for label, value in facts.items() if value]


def write_receipt(app: Flask, *, order_id: str, checkout: CheckoutMixin, event_id: str, **extra: Any) -> None:
    order = paid_order(order_id, checkout)
    balance = None if checkout.excess is None else paycheckout.balance(order_id)
    paid = None if balance is None else balance.paid
    write(order, event_id, _RECEIPT, receipt_text(order, checkout.payment, paycheckout.status_url(order_id), paid))


def write_reminder(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    order = db.session.get_one(Order, order_id)
    lines = [
        f"Dear {order.name},",
        "",
        f"your weather is still waiting: order {order_id} is not paid yet.",
        f"{show_money(due_now(order))} is due now. To pay, or to see how it stands:",
        paycheckout.status_url(order_id),
        "",
        "Fair & Foul, weather by the jar",
    ]
    write(order, event_id, "Not paid yet: order {}", "\n".join(lines))


def write(order: Order, event_id: str, subject: str, text: str) -> None:
    db.session.add(
        Letter(
            event_id=event_id,
            order_id=order.id,
            address=order.email,
            subject=subject.format(order.id),
            text=text,
            written_at=now(),
        )
    )


def post_letter(app: Flask, *, event_id: str, **extra: Any) -> None:
    message = EmailMessage()
    # In a context, and so a session, of its own: no lock is held while the mail server is called.
    with app.app_context():
        letter = db.session.get_one(Letter, event_id)
        message["From"], message["To"], message["Subject"] = app.config["MAIL_SENDER"], letter.address, letter.subject
        message["Date"], message["Message-ID"] = letter.written_at, f"<{event_id}@receipts.fair-and-foul.example>"
        message.set_content(letter.text)
    with smtplib.SMTP(app.config["MAIL_SERVER"], app.config["MAIL_PORT"], timeout=app.config["MAIL_TIMEOUT"]) as server:
        if app.config["MAIL_USERNAME"]:
            # Without this context no certificate is verified, and the password could go to another server.
            server.starttls(context=ssl.create_default_context())
            server.login(app.config["MAIL_USERNAME"], app.config["MAIL_PASSWORD"])
        server.send_message(message)
    db.session.get_one(Letter, event_id).posted_at = now()


_PAGE = """{% extends "base.html" %}
{% block title %}Letters{% endblock %}
{% block main %}
<p class="back"><a href="{{ url_for('owner.desk') }}">The owner's desk</a></p>
<h1>Letters</h1>
<p class="hint">{% if config.MAIL_SERVER %}They are posted through {{ config.MAIL_SERVER }}.{% else %}No mail server is
  configured: they are kept here. Set MAIL_SERVER to post them.{% endif %}</p>
{% for letter in letters %}
<article class="letter" aria-labelledby="letter-{{ loop.index }}">
  <h2 id="letter-{{ loop.index }}">{{ letter.subject }}</h2>
  <p class="hint">To {{ letter.address }}, <time datetime="{{ letter.written_at.isoformat() }}">
    {{- letter.written_at.strftime("%d %b, %H:%M") }}</time>.
    {% if letter.posted_at %}Posted.{% elif config.MAIL_SERVER %}Not posted yet.{% endif %}</p>
  <pre>{{ letter.text }}</pre>
</article>
{% else %}
<div class="empty"><p>No letters yet. One is written for every order that is paid, or waits long.</p></div>
{% endfor %}
{% endblock %}"""


@blueprint.get("/")
def letters() -> str:
    newest = db.session.scalars(select(Letter).order_by(Letter.written_at.desc()).limit(100)).all()
    return render_template_string(_PAGE, letters=newest)


def order_note(order: Order) -> str | None:
    written = db.session.scalar(select(Letter.address).filter_by(order_id=order.id, subject=_RECEIPT.format(order.id)))
    return f"Your receipt goes to {written}." if written else None


def init_app(app: Flask) -> None:
    app.config.setdefault("MAIL_SERVER", None)  # letters stay on the owner's page until it is set
    app.config.setdefault("MAIL_PORT", 587)
    app.config.setdefault("MAIL_TIMEOUT", 10.0)  # seconds
    app.config.setdefault("MAIL_USERNAME", None)  # with one, the connection is encrypted first
    app.config.setdefault("MAIL_PASSWORD", None)
    app.config.setdefault("MAIL_SENDER", "Fair & Foul <shop@fair-and-foul.example>")
    for signal, write_letter in ((order_paid, write_receipt), (payment_reminder, write_reminder)):
        signal.connect(write_letter, sender=app)
        if app.config["MAIL_SERVER"]:
            signal.connect(post_letter, sender=app)
    app.register_blueprint(blueprint)
    hooks(app).order_notes.append(order_note)
    hooks(app).desk_pages.append(("receipts.letters", "Letters"))
