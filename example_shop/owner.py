"""The owner's desk, behind a password: the newest orders, and payments that are held, or rejected and not paid back.

`throttle` limits the guesses at the password. Features add pages of their own behind the same password, by
`ask_for_password`. The extension's own pages for the owner, with payments, payouts, refunds and the books, stand behind
it too.
"""

from __future__ import annotations

import hmac
from math import ceil
from typing import TYPE_CHECKING

from flask import Blueprint, abort, current_app, redirect, render_template, request, session, url_for
from sqlalchemy import and_, or_, select

from example_shop import door, throttle
from example_shop.database import Order, db
from example_shop.hooks import hooks
from example_shop.payments import HELD_BECAUSE, paycheckout

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

blueprint = Blueprint("owner", __name__, url_prefix="/owner")


def is_owner(password: str) -> bool:
    expected = current_app.config["OWNER_PASSWORD"]
    return bool(expected) and hmac.compare_digest(password.encode(), expected.encode())


@blueprint.before_request
def ask_for_password() -> Response | None:
    if session.get("owner") or request.endpoint == "owner.login":
        return None
    return redirect(url_for("owner.login"), 303)


@blueprint.route("/login", methods=["GET", "POST"])
def login() -> str | tuple[str, int, dict[str, str]] | Response:
    if request.method == "GET":
        return render_template("owner_login.html", fault=None)
    try:
        throttle.claim_try()
    except throttle.TooMany as refused:
        minutes = ceil(refused.wait / 60)
        fault = f"There were too many tries. Please try again in {minutes} minute{'s'[: minutes != 1]}."
        return render_template("owner_login.html", fault=fault), 429, {"Retry-After": str(refused.wait)}
    if not is_owner(request.form.get("password", "")):
        return render_template("owner_login.html", fault="That is not the password."), 403, {}
    throttle.forgive()
    door.renew()
    session["owner"] = True
    answer = redirect(url_for("owner.desk"), 303)
    throttle.remember_browser(answer)
    return answer


@blueprint.route("/logout", methods=["GET", "POST"])
def logout() -> Response:
    """Log the owner out; by a link, too, since that gives nothing away."""
    session.pop("owner", None)
    return redirect(url_for("catalogue.window"), 303)


@blueprint.get("/")
def desk() -> str:
    orders = db.session.scalars(select(Order).order_by(Order.placed_at.desc()).limit(100)).all()
    checkout = paycheckout.Checkout
    to_pay_back = and_(checkout.status == "rejected", checkout.payback.is_(None))
    return render_template(
        "owner.html",
        orders=orders,
        payments=paycheckout.order_statuses(order.id for order in orders),
        waiting=db.session.scalars(select(checkout).where(or_(checkout.status == "held", to_pay_back))).all(),
        held_because=HELD_BECAUSE,
    )


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)
    view = paycheckout.owner_view(owner_name, home="owner.desk", logout="owner.logout")
    app.register_blueprint(view, url_prefix="/owner/payments")
    pages = {"list_orders": "Payments", "list_payouts": "Payouts", "show_month": "Books"}
    hooks(app).desk_pages.extend((f"{view.name}.{page}", label) for page, label in pages.items())


def owner_name() -> str:
    """The name that is recorded with decisions; visitors who are not logged in are redirected to the login."""
    if answer := ask_for_password():
        abort(answer)
    return "the owner"
