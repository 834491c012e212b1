"""What every request comes through, and every answer leaves by: bounds, and headers that keep strangers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort, request

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

#: Bytes of the largest form; the shop has none that is longer than a page of writing.
MOST = 64 * 1024

HEADERS = {
    # No form-action: browsers hold the payment page, which paying leads on to, for the target of the form.
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # An order's address is the key to it.
    "Referrer-Policy": "same-origin",
}


def check() -> None:
    """No text that anybody types holds a NUL, and PostgreSQL takes none."""
    # The payment routes check for themselves, and read the webhook's body as it comes.
    if request.blueprint == "paycheckout":
        return
    said = [request.path, *request.args.values(), *request.form.values()]
    if any("\0" in text for text in said):
        abort(400, "There is something in this form that cannot be read.")


def harden(response: Response) -> Response:
    """The payment pages have stricter headers of their own, which stay."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def init_app(app: Flask) -> None:
    app.config["MAX_CONTENT_LENGTH"] = app.config["MAX_CONTENT_LENGTH"] or MOST
    app.before_request(check)
    app.after_request(harden)
