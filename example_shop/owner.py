"""The owner's desk, behind a password: the newest orders, and payments that are held, or rejected and not paid back.

Flask-Login keeps the owner's login, and Flask-Limiter limits guesses at the password. Features add pages of their own
behind the same password, by `ask_for_password`. The extension's own pages for the owner, with payments, payouts,
refunds and the books, stand behind it too.
"""

from __future__ import annotations

import hmac
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

from flask import Blueprint, abort, current_app, redirect, render_template, request, url_for
from flask_limiter import Limiter
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user
from sqlalchemy import and_, or_, select

from example_shop import door
from example_shop.database import Order, db
from example_shop.hooks import hooks
from example_shop.payments import HELD_BECAUSE, paycheckout

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

blueprint = Blueprint("owner", __name__, url_prefix="/owner")

logins = LoginManager()

GUESSES = "5 per 15 minutes"
"""How often a place may try to log in; right passwords count as well."""

_TOO_MANY = "There were too many tries. Please try again in a quarter of an hour."


class Owner(UserMixin):
    """The one who knows the password."""

    def get_id(self) -> str:
        """A fingerprint of the password, which the session holds, so that a login ends with the password."""
        key, password = current_app.config["SECRET_KEY"], current_app.config["OWNER_PASSWORD"]
        return hmac.digest(str(key).encode(), f"owner {password}".encode(), "sha256").hex()


@logins.user_loader
def owner_of(identity: str) -> Owner | None:
    return Owner() if hmac.compare_digest(identity.encode(), Owner().get_id().encode()) else None


@logins.unauthorized_handler
def ask() -> Response:
    return redirect(url_for("owner.login"), 303)


def is_owner(password: str) -> bool:
    expected = current_app.config["OWNER_PASSWORD"]
    return bool(expected) and hmac.compare_digest(password.encode(), expected.encode())


def place() -> str:
    """The address of this request; of an IPv6 address its network, all of which usually belongs to one customer."""
    address = request.remote_addr or "unknown"
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
    return address


# Behind a proxy, all visitors count as one place, unless Werkzeug's `ProxyFix` is set up.
limiter = Limiter(place, headers_enabled=True)


@blueprint.before_request
def ask_for_password() -> Response | None:
    return None if current_user.is_authenticated or request.endpoint == "owner.login" else ask()


@blueprint.route("/login", methods=["GET", "POST"])
@limiter.limit(GUESSES, methods=["POST"], error_message=_TOO_MANY)
def login() -> str | tuple[str, int] | Response:
    if request.method == "GET":
        return render_template("owner_login.html", fault=None)
    if not is_owner(request.form.get("password", "")):
        return render_template("owner_login.html", fault="That is not the password."), 403
    door.renew()
    login_user(Owner())
    return redirect(url_for("owner.desk"), 303)


@blueprint.route("/logout", methods=["GET", "POST"])
def logout() -> Response:
    """Log the owner out; by a link, too, since that gives nothing away."""
    logout_user()
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
    # Counted in each process; several of them count together in a storage such as "redis://localhost".
    app.config.setdefault("RATELIMIT_STORAGE_URI", "memory://")
    limiter.init_app(app)
    logins.init_app(app)
    app.register_blueprint(blueprint)
    view = paycheckout.owner_view(owner_name, home="owner.desk", logout="owner.logout")
    app.register_blueprint(view, url_prefix="/owner/payments")
    pages = {"overview": "Payments", "payouts": "Payouts", "books": "Books"}
    hooks(app).desk_pages.extend((f"{view.name}.{page}", label) for page, label in pages.items())


def owner_name() -> str:
    """The name that is recorded with decisions; visitors who are not logged in are redirected to the login."""
    if answer := ask_for_password():
        abort(answer)
    return "the owner"
