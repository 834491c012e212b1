"""The owner's desk, with a password: the newest orders, and payments that are held, or rejected and not paid back.

Flask-Login keeps the owner's login, and Flask-Limiter limits guesses of the password. Features add their own pages
to `blueprint`. The extension's own pages for the owner, with payments, payouts, refunds and the books, need the same
password.
"""

from __future__ import annotations

import hmac
from ipaddress import AddressValueError, IPv6Address, IPv6Network
from typing import TYPE_CHECKING

from flask import Blueprint, abort, current_app, redirect, render_template, request, session, url_for
from flask_limiter import Limiter
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user
from flask_wtf import FlaskForm
from itsdangerous import Signer
from sqlalchemy import and_, or_, select
from wtforms import Field, PasswordField, ValidationError

from example_shop.database import Order, db
from example_shop.payments import paycheckout

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

blueprint = Blueprint("owner", __name__, url_prefix="/owner")

logins = LoginManager()


class Owner(UserMixin):
    """The person who knows the password."""

    def get_id(self) -> str:
        """A fingerprint of the password, stored in the session, so that a changed password ends all logins."""
        signer = Signer(current_app.config["SECRET_KEY"], salt="owner")
        return signer.get_signature(str(current_app.config["OWNER_PASSWORD"])).decode()


class LoginForm(FlaskForm):
    """Asks for the owner's password."""

    password = PasswordField("Password", default="")

    def validate_password(self, field: Field) -> None:
        password = current_app.config["OWNER_PASSWORD"]
        if not password or not hmac.compare_digest(field.data.encode(), password.encode()):
            raise ValidationError("That is not the password.")


@logins.user_loader
def owner_of(identity: str) -> Owner | None:
    owner = Owner()
    return owner if identity == owner.get_id() else None


@logins.unauthorized_handler
def ask() -> Response:
    return redirect(url_for("owner.login"))


def place() -> str:
    """The address of this request; for IPv6 its /64 network, which usually belongs to one visitor."""
    try:
        address = IPv6Address(request.remote_addr or "")
    except AddressValueError:
        return request.remote_addr or "unknown"
    return str(address.ipv4_mapped or IPv6Network((address, 64), strict=False))


# Behind a proxy, all visitors count as one place, unless Werkzeug's `ProxyFix` is set up.
limiter = Limiter(place)


@blueprint.before_request
def ask_for_password() -> Response | None:
    return None if current_user.is_authenticated or request.endpoint == "owner.login" else ask()


@blueprint.route("/login", methods=["GET", "POST"])
@limiter.limit(
    "5 per 15 minutes",  # right passwords count as well
    methods=["POST"],
    error_message="There were too many tries. Please try again in a quarter of an hour.",
)
def login() -> tuple[str, int] | Response:
    form = LoginForm()
    if not form.validate_on_submit():
        return render_template("owner_login.html", form=form), 403 if form.errors else 200
    # This also removes the CSRF secret, which an attacker may have planted in the visitor's session before.
    session.clear()
    login_user(Owner())
    return redirect(url_for("owner.desk"))


@blueprint.route("/logout", methods=["GET", "POST"])
def logout() -> Response:
    """Log the owner out; a GET is allowed too, because it does no harm."""
    logout_user()
    return redirect(url_for("basket.window"))


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
    )


def owner_name() -> str:
    """The name that is recorded with decisions; visitors who are not logged in are redirected to the login."""
    if not current_user.is_authenticated:
        abort(ask())
    return "the owner"


def init_app(app: Flask) -> None:
    """Register the desk; called after the features have added their pages."""
    limiter.init_app(app)
    logins.init_app(app)
    app.register_blueprint(blueprint)
    view = paycheckout.owner_view(owner_name, home="owner.desk", logout="owner.logout")
    app.register_blueprint(view, url_prefix="/owner/payments")
