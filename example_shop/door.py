"""Checks of every request and security headers of every response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort, request

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
    app.after_request(harden)
