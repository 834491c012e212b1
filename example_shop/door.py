"""Checks of every request and security headers of every response.

Flask-WTF protects every form of the shop against CSRF. The extension protects its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort, render_template, request
from flask_wtf.csrf import CSRFError, CSRFProtect

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

csrf = CSRFProtect()

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
    if any("\0" in text for text in (request.path, *request.args.values(), *request.form.values())):
        abort(400, "There is something in this form that cannot be read.")


def harden(response: Response) -> Response:
    """Add the headers that the response does not have; the extension's pages set stricter headers."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def show_stale(error: CSRFError) -> tuple[str, int]:
    return render_template("stale.html", fault=error), 400


def init_app(app: Flask) -> None:
    app.before_request(check)
    csrf.init_app(app)
    app.register_error_handler(CSRFError, show_stale)
    app.after_request(harden)
