"""Orders: placing, showing, changing and cancelling them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flask import Blueprint, abort, current_app, flash, redirect, render_template, request, url_for
from itsdangerous import BadSignature, URLSafeSerializer
from markupsafe import Markup
from sqlalchemy.exc import IntegrityError

from example_shop import basket
from example_shop.database import Line, Order, db, new_order_id
from example_shop.hooks import hooks, now, texts_of
from example_shop.payments import due_now, paycheckout, remember

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.datastructures import MultiDict
    from werkzeug.wrappers import Response

blueprint = Blueprint("orders", __name__, url_prefix="/orders")

# Narrower than the standard, so that an address can never break a letter's headers: `=?` begins an encoded word, which
# may contain anything, even a line break.
_EMAIL = re.compile(r"""(?!.*=\?)[^@\s,;:<>"()\[\]\\]+@[^@\s,;:<>"()\[\]\\]+\.[^@\s,;:<>"()\[\]\\]+""")
# Line breaks and marks that change the direction of text, with which a name could forge parts of a letter.
_NOT_IN_A_NAME = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]")
_MOST_OF_A_NUMBER = re.compile(r"\b\w{4}-\w{4}-(?=\w{4}\b)", re.ASCII)

STATUS_TEXT = {
    "unpaid": ("Waiting for your payment", "Your jars are sent as soon as the order is paid."),
    "created": (
        "Waiting for your payment",
        "You have begun to pay. Use the button below to go on.",
    ),
    "pending": (
        "We are waiting for your money",
        "You have chosen how to pay. We send your jars as soon as the money arrives.",
    ),
    "part": ("A part is paid, thank you!", "Your jars are sent as soon as the rest is paid."),
    "abandoned": ("Nothing was paid", "No money has come. You can start again whenever you like."),
    "held": (
        "We are looking at your payment",
        "Your money has arrived, but not quite as we expected. A person sees to it; you need not do anything.",
    ),
    "paid": ("Paid, thank you!", "Your jars are being wrapped in straw."),
    "refunded": ("This order is refunded", "It is not to be paid any more, and nothing more will be sent."),
    "cancelled": ("This order is cancelled", "It is not to be paid any more, and nothing will be sent."),
}
"""The headline and the sentence of the order page, by the order's status."""


def status_of(order: Order) -> str:
    """The status to show for an order: the shop's own state where that is final, else the payment's status."""
    if order.state in ("paid", "refunded"):
        return order.state
    payment = paycheckout.order_status(order.id)
    if order.state == "cancelled" and payment not in ("paid", "held"):
        return "cancelled"
    return payment


def may_change(order: Order) -> bool:
    """Whether the customer may still change the order: until money has arrived.

    A payment that is on its way when the order changes is held for a person, never lost.
    """
    return order.state == "open" and status_of(order) not in ("paid", "held", "part")


def find_order(order_id: str) -> Order:
    return db.session.get(Order, order_id) or abort(404)


def lock_open_order(order_id: str) -> Order:
    """Lock an order until the transaction ends, so that nobody else can change or pay it; 409 when it cannot change.

    `order_total` takes the same lock in the transaction that moves a payment: a payment is settled either before this
    change, which is then refused, or after it, and then compared with the new total.
    """
    # Lock before reading the payment's status, so that the status includes the commit of the lock's last holder.
    order = db.session.get(Order, order_id, with_for_update=True) or abort(404)
    if not may_change(order):
        abort(409, "This order can no longer be changed.")
    return order


def commit_change(order: Order) -> None:
    """Commit a change of an order together with the features' reactions to it."""
    for adapt in hooks().order_changes:
        adapt(order)
    db.session.commit()


def faults_of(name: str, email: str) -> dict[str, str]:
    """The faults of an order form, by field."""
    faults = {}
    if not 0 < len(name) <= 100 or _NOT_IN_A_NAME.search(name):
        faults["name"] = "Please tell us your name, in at most 100 letters."
    # The length first: the time of the comparison grows with its square.
    if len(email) > 200 or not _EMAIL.fullmatch(email):
        faults["email"] = "Please give an e-mail address, such as ada@example.com."
    return faults


@blueprint.get("/new")
def order_form() -> str | Response:
    entries = basket.contents()
    return show_form(entries, {}) if entries else redirect(url_for("basket.show"), 303)


def show_form(entries: list[basket.Entry], faults: dict[str, str]) -> str:
    """The order form, with what was typed and its faults; the number of its order is chosen with it."""
    number = request.form.get("number") or numbers().dumps(new_order_id())
    total = basket.total(entries)
    return render_template(
        "order_form.html", entries=entries, total=total, number=number, form=request.form, faults=faults
    )


def numbers() -> URLSafeSerializer:
    """Signs the number that a form holds: who sends it back has read the form, and is who placed its order.

    A session would not prove that, since another browser may have the same one.
    """
    return URLSafeSerializer(str(current_app.config["SECRET_KEY"]), salt="example_shop.orders")


def number_in(form: MultiDict[str, str]) -> str:
    try:
        return str(numbers().loads(form.get("number", "")))
    except BadSignature:
        return new_order_id()


@blueprint.post("/")
def place() -> str | tuple[str, int] | Response:
    """Turn the basket into an order at today's prices, and empty it; a button pressed twice places one order."""
    entries = basket.contents()
    if not entries:
        return redirect(url_for("basket.show"), 303)
    name, email = request.form.get("name", "").strip(), request.form.get("email", "").strip()
    if faults := faults_of(name, email):
        return show_form(entries, faults), 422
    order_id = number_in(request.form)
    lines = [line_of(entry) for entry in entries]
    db.session.add(Order(id=order_id, name=name, email=email, placed_at=now(), lines=lines))
    try:
        db.session.commit()
    except IntegrityError:
        db.session.rollback()  # it is placed already
    basket.empty()
    remember("placed", order_id)
    return redirect(url_for("orders.show", order_id=order_id), 303)


def line_of(entry: basket.Entry) -> Line:
    product = entry.product
    return Line(
        slug=product.slug,
        name=product.name,
        price=product.price,
        quantity=entry.quantity,
        consigned=product.consigned,
    )


@blueprint.get("/<order_id>")
def show(order_id: str) -> str:
    order = find_order(order_id)
    remember("seen", order_id)
    status = status_of(order)
    headline, sentence = STATUS_TEXT[status]
    return render_template(
        "order.html",
        order=order,
        status=status,
        headline=headline,
        sentence=sentence,
        may_change=may_change(order),
        due=due_now(order),
        objections=texts_of(hooks().against_paying, order),
        status_url=paycheckout.status_url(order.id),
        most=basket.MOST,
    )


@blueprint.post("/<order_id>/change")
def change(order_id: str) -> Response:
    """Set new quantities, even while a payment page is open; the new total is valid from then on."""
    order = lock_open_order(order_id)
    quantities = {line.id: basket.quantity_in(request.form, line.slug) for line in order.lines}
    if not any(quantities.values()):
        flash("An order needs at least one jar. To call it off, cancel it.")
        return redirect(url_for("orders.show", order_id=order_id), 303)
    for line in order.lines:
        line.quantity = quantities[line.id]
    order.lines = [line for line in order.lines if line.quantity]
    commit_change(order)
    flash("Your order is changed.")
    return redirect(url_for("orders.show", order_id=order_id), 303)


@blueprint.post("/<order_id>/cancel")
def cancel(order_id: str) -> Response:
    order = lock_open_order(order_id)
    order.state = "cancelled"
    commit_change(order)
    return redirect(url_for("orders.show", order_id=order_id), 303)


def end_of_number(text: Markup) -> Markup:
    """Shorten an order's number to its last letters, for readers who must not learn the whole: it opens the order."""
    return Markup(_MOST_OF_A_NUMBER.sub("…-", text))  # noqa: S704 - the text was escaped before


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)
    app.add_template_filter(end_of_number)
