"""The hosted page `GET /checkout/<id>`, its two forms, and buttons for developers.

Anybody who has the address may pay, so the customer's forms need no token. The developer's buttons can advance the
clock, so only browsers that may control the sandbox see them. Sending a form twice has no second
effect: the transition is refused, and the page shows the current state.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from decimal import Decimal

from flask import Blueprint, Response, abort, make_response, redirect, render_template, request, url_for
from markupsafe import Markup
from sqlalchemy import update
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.checkouts.endpoints import Checkout, offers
from flask_paycheckout.sandbox.control import triggers
from flask_paycheckout.sandbox.deposits.tables import Deposit, account_number
from flask_paycheckout.sandbox.deposits.transitions import (
    change_method,
    expire_due,
    is_payable,
    pick,
)
from flask_paycheckout.sandbox.wire.callers import CallRefused, may_control
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import current_time
from flask_paycheckout.sandbox.world.database import rows_changed, transaction
from flask_paycheckout.sandbox.world.settings import WorldSettings
from flask_paycheckout.sandbox.world.transitions import COMPLETED, PENDING, NotPossible

hosted_page = Blueprint("hosted_page", __name__)

ACTS = {name: triggers.OF_PICKED[name] for name in ("underpaid", "overpaid", "paid-late", "failed")} | {
    "left": triggers.leave
}
"""The actions of the developer's buttons, by the form field `act`."""


def _stage(checkout: Checkout, deposit: Deposit | None) -> str:
    """The part of the template that is shown: choose, pay, completed, late, expired or closed."""
    if deposit is None:
        return "choose" if checkout.page_is_open else "expired"
    if deposit.status == COMPLETED:
        return "completed"
    if deposit.status == PENDING and checkout.page_is_open:
        return "choose" if "methods" in request.args else "pay"
    return "late" if is_payable(deposit) else "closed"


def _qr_code(text: str) -> Markup:
    # Imported here because only this page needs it.
    import segno

    # Safe: the SVG consists of numbers, without any text of the request.
    drawing = segno.make(text, error="m").svg_inline(scale=4, border=2, svgclass="qr", title="QR code")
    return Markup(drawing)  # noqa: S704


@hosted_page.get("/checkout/<checkout_id>")
def show_checkout(checkout_id: str) -> Response:
    """Show the state of a checkout, and the customer's possible next steps."""
    with transaction() as session:
        expire_due(session)
        checkout, deposit = session.get(Checkout, checkout_id), session.get(Deposit, checkout_id)
        if checkout is None:
            return page("not_found.html", 404)
        stage, offered = _stage(checkout, deposit), offers(session, checkout)
        merchant = session.get_one(Account, checkout.user_id).organization_name
    return page(
        "checkout.html",
        410 if stage == "expired" else 200,
        checkout=checkout,
        deposit=deposit,
        stage=stage,
        chosen=deposit.paid_by if deposit else None,
        offers=offered,
        merchant=merchant,
        seconds_left=max(0, int((checkout.expires_at - current_time()).total_seconds())),
        may_control=may_control(),
        account_number=account_number,
        times=triggers.times,
        qr_code=_qr_code,
    )


@hosted_page.post("/checkout/<checkout_id>/method")
def choose_method(checkout_id: str) -> AnyResponse:
    method = request.form.get("method", "")
    with suppress(CallRefused, NotPossible), transaction() as session:
        choose = pick if session.get(Deposit, checkout_id) is None else change_method
        choose(session, checkout_id, method)
    return _back(checkout_id)


@hosted_page.post("/checkout/<checkout_id>/payment")
def send_payment(checkout_id: str) -> AnyResponse:
    """Pay, in place of the customer's bank or wallet."""
    with suppress(CallRefused, NotPossible):
        triggers.pay_picked(checkout_id)
    return _back(checkout_id)


@hosted_page.post("/checkout/<checkout_id>/developer")
def let_happen(checkout_id: str) -> AnyResponse:
    """Carry out one of `ACTS` for a developer."""
    if not may_control():
        raise CallRefused(401, "form", "is for developers", "Open the inspector first, then this page again.")
    act = ACTS.get(request.form.get("act", "")) or abort(400)
    with suppress(CallRefused, NotPossible):
        act(checkout_id)
    return _back(checkout_id)


def _back(checkout_id: str) -> AnyResponse:
    return redirect(url_for("hosted_page.show_checkout", checkout_id=checkout_id), 303)


identity_page = Blueprint("identity_page", __name__, url_prefix="/identity")


@identity_page.get("/<user_id>")
def show_identity(user_id: str) -> Response:
    with transaction() as session:
        user = session.get(User, user_id)
    return page("identity.html", 404 if user is None else 200, user=user)


@identity_page.post("/<user_id>")
def confirm_identity(user_id: str) -> AnyResponse:
    """Verify the identity, as the partner would."""
    with transaction() as session:
        verified = update(User).where(User.id == user_id, User.is_verified.is_(False))
        rows_changed(session, verified.values(is_verified=True, updated_at=current_time()))
    return redirect(url_for("identity_page.show_identity", user_id=user_id), 303)


HEALTH = "/health"

health = Blueprint("health", __name__)


@health.get(HEALTH)
def show_health() -> Response:
    """Answer 200 if the database can be written; a database error is handled as on every other page."""
    with transaction() as session:
        rows_changed(session, update(WorldSettings).values(id=WorldSettings.id))
    return Response("ok\n", content_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-store"})


_NO_BREAK = "\N{NO-BREAK SPACE}"


def page(template: str, status: int = 200, **context: object) -> Response:
    """Render a page under a strict Content-Security-Policy; scripts need this response's nonce."""
    nonce = secrets.token_urlsafe(16)
    response = make_response(render_template(template, nonce=nonce, money=money, **context), status)
    response.headers.update(
        {
            "Content-Security-Policy": (
                "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none';"
                f" frame-ancestors 'none'; script-src 'nonce-{nonce}'"
            ),
            "Cache-Control": "no-store",
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        }
    )
    return response


def money(amount: Decimal, currency: str) -> str:
    """Format an amount, with a no-break space: `1,250.00 USD`."""
    return f"{amount:,f}{_NO_BREAK}{currency}"
