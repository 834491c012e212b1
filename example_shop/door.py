"""Checks of every request and security headers of every response.

Every form of the shop contains a secret from the visitor's session, against CSRF.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from flask import abort, current_app, request, session
from markupsafe import Markup

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

MOST = 64 * 1024
"""The most bytes of a form; the shop's longest has about a page of text."""

HEADERS = {
    # Without form-action, which browsers would also apply to the redirect from the pay button to the payment page.
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Anybody who knows an order's URL can see it, so other sites must not get it.
    "Referrer-Policy": "same-origin",
}


def check() -> None:
    """Refuse text with NUL characters, which nobody types and PostgreSQL refuses."""
    # The extension's routes make their own checks, and read the webhook's body themselves.
    if request.blueprint == "paycheckout":
        return
    texts = [request.path, *request.args.values(), *request.form.values()]
    if any("\0" in text for text in texts):
        abort(400, "There is something in this form that cannot be read.")


def harden(response: Response) -> Response:
    """Add the headers that the response does not have; the extension's pages have stricter ones of their own."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def init_app(app: Flask) -> None:
    app.config["MAX_CONTENT_LENGTH"] = app.config["MAX_CONTENT_LENGTH"] or MOST
    app.before_request(check)
    app.before_request(check_form)
    app.add_template_global(field, "csrf_field")
    app.after_request(harden)


_BY_HTTPS = (
    "Your browser sent no cookie, because this shop's cookies travel by https only. Use its https address. If you are"
    " its owner: behind a proxy that speaks https set up Werkzeug's ProxyFix, and to try the shop on your own machine"
    " use flask --debug, or set SESSION_COOKIE_SECURE = False."
)


def token() -> str:
    return str(session.setdefault("csrf", secrets.token_urlsafe(24)))


def renew() -> None:
    """Forget the secret at login, so that one planted into the visitor's session before is worthless."""
    session.pop("csrf", None)


def field() -> Markup:
    """The hidden field, for `{{ csrf_field() }}` inside a form."""
    return Markup('<input type="hidden" name="csrf" value="{}">').format(token())


def check_form() -> None:
    # The extension's routes have their own protection, and the service's webhook has no session.
    if request.method != "POST" or request.blueprint in ("paycheckout", "paycheckout_owner"):
        return
    given, expected = request.form.get("csrf", ""), session.get("csrf", "")
    if not expected and current_app.config["SESSION_COOKIE_SECURE"] and not request.is_secure:
        abort(400, _BY_HTTPS)
    if not expected or not hmac.compare_digest(given.encode(), expected.encode()):
        abort(400, "This form has grown stale. Go back, load the page again and send it once more.")
