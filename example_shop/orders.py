"""Orders: placing, showing, changing and cancelling them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from flask import Blueprint, abort, current_app, flash, redirect, render_template, session, url_for
from flask_wtf import FlaskForm
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from wtforms import EmailField, HiddenField, StringField
from wtforms.validators import Length, Regexp

from example_shop import basket
from example_shop.database import Order, db
from example_shop.hooks import against_paying, order_changed, reasons
from example_shop.payments import due_now, paycheckout, remember

if TYPE_CHECKING:
    from werkzeug.wrappers import Response

blueprint = Blueprint("orders", __name__, url_prefix="/orders")

# Excludes line breaks and marks that change the direction of text, with which a name could forge parts of a letter.
_NAME = "[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,100}\\Z"
# Stricter than the standard, so that an address can never break a letter's headers: `=?` begins an encoded word, which
# may contain any character, even a line break.
_EMAIL = r"""[^@\s,;:<>"()\[\]\\?]+@([^@\s,;:<>"()\[\]\\?.]+\.)+[^@\s,;:<>"()\[\]\\?.]+\Z"""
_NO_EMAIL = "Please give an e-mail address, such as ada@example.com."


class OrderForm(FlaskForm):
    """The name and e-mail address of the customer."""

    name = StringField(
        "Your name",
        default="",
        filters=[str.strip],
        validators=[Regexp(_NAME, message="Please tell us your name, in at most 100 letters.")],
    )
    email = EmailField(
        "Your e-mail address",
        default="",
        filters=[str.strip],
        validators=[Length(max=200, message=_NO_EMAIL), Regexp(_EMAIL, message=_NO_EMAIL)],
    )
    form_key = HiddenField(default=secrets.token_urlsafe, validators=[Length(20, 64)])
    """A secret that proves that the sender has read this form, and so has placed its order.

    A session would not prove that, because another browser may have the same session.
    """


def status_of(order: Order) -> str:
    """The status to show for an order: the shop's own state if that is final, else the payment's status."""
    if order.state in ("paid", "refunded"):
        return order.state
    payment = paycheckout.order_status(order.id)
    if order.state == "cancelled" and payment not in ("paid", "held"):
        return "cancelled"
    return payment


def may_change(order: Order) -> bool:
    """Whether the customer may still change the order: until money has arrived.

    A payment that is under way when the order changes is held for a person to decide, and never lost.
    """
    return order.state == "open" and status_of(order) not in ("paid", "held", "part")


def lock_open_order(order_id: str) -> Order:
    """Lock an order until the transaction ends, so that nobody else can change or pay it; 409 if it cannot change.

    `order_total` takes the same lock in the transaction that moves a payment. A payment is therefore settled either
    before this change, which is then refused, or after it, and is then compared with the new total.
    """
    # Lock before reading the payment's status, so that the status includes the commit of the lock's last holder.
    order: Order = db.get_or_404(Order, order_id, with_for_update=True)
    if not may_change(order):
        abort(409, "This order can no longer be changed.")
    return order


def commit_change(order: Order) -> None:
    """Commit a change of an order together with the features' reactions to it."""
    order_changed.send(current_app._get_current_object(), order=order)  # type: ignore[attr-defined]
    db.session.commit()


@blueprint.route("/new", methods=["GET", "POST"])
def place() -> Response | tuple[str, int]:
    """Turn the basket into an order at today's prices, and empty it."""
    order, form = basket.contents(), OrderForm()
    if not order.lines:
        return redirect(url_for("basket.show"))
    if not form.validate_on_submit():
        return render_template("order_form.html", order=order, form=form), 422 if form.errors else 200
    form.populate_obj(order)
    db.session.add(order)
    try:
        db.session.commit()
    except IntegrityError:
        db.session.rollback()  # the button was pressed twice
        order = db.session.scalars(select(Order).filter_by(form_key=form.form_key.data)).one()
    session.pop("basket")
    remember("placed", order.id)
    return redirect(url_for("orders.show", order_id=order.id))


@blueprint.get("/<order_id>")
def show(order_id: str) -> str:
    order = db.get_or_404(Order, order_id)
    remember("seen", order_id)
    return render_template(
        "order.html",
        order=order,
        status=status_of(order),
        may_change=may_change(order),
        due=due_now(order),
        objections=reasons(against_paying, order),
        status_url=paycheckout.status_url(order.id),
    )


@blueprint.post("/<order_id>/change")
def change(order_id: str) -> Response:
    """Set new quantities, even while a payment page is open; the new total is valid from then on."""
    order = lock_open_order(order_id)
    for line in order.lines:
        line.quantity = basket.quantity_in(line.slug)
    order.lines = [line for line in order.lines if line.quantity]
    if order.lines:
        commit_change(order)
        flash("Your order is changed.")
    else:
        flash("An order needs at least one jar. To call it off, cancel it.")
    return redirect(url_for("orders.show", order_id=order_id))


@blueprint.post("/<order_id>/cancel")
def cancel(order_id: str) -> Response:
    order = lock_open_order(order_id)
    order.state = "cancelled"
    commit_change(order)
    return redirect(url_for("orders.show", order_id=order_id))
