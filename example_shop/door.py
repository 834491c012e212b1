"""Checks of every request and security headers of every response.

Flask-WTF protects every form of the shop against CSRF. The extension protects its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort, current_app, render_template, request, session
from flask_wtf.csrf import CSRFError, CSRFProtect, generate_csrf
from markupsafe import Markup
from werkzeug.exceptions import BadRequest

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

csrf = CSRFProtect()

MOST = 64 * 1024
"""The most bytes of a form; the shop's longest has about a page of text."""

HEADERS = {
    # Without form-action, which browsers would also apply to the redirect from the pay button to the payment page.
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Anybody who knows an order's URL can see it, so other sites must not get it.
    "Referrer-Policy": "same-origin",
}

_STALE = "This form has grown stale. Go back, load the page again and send it once more."
_BY_HTTPS = (
    "Your browser sent no cookie, because this shop's cookies travel by https only. Use its https address. If you are"
    " its owner: behind a proxy that speaks https set up Werkzeug's ProxyFix, and to try the shop on your own machine"
    " use flask --debug, or set SESSION_COOKIE_SECURE = False."
)


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


def show_stale(error: CSRFError) -> tuple[str, int]:
    has_no_cookie = current_app.config["SESSION_COOKIE_SECURE"] and not request.is_secure
    return render_template("fault.html", fault=BadRequest(_BY_HTTPS if has_no_cookie else _STALE)), 400


def renew() -> None:
    """Forget the session's secret at login, so that one planted into the visitor's session before is worthless."""
    session.pop(current_app.config["WTF_CSRF_FIELD_NAME"], None)


def field() -> Markup:
    """The hidden field, for `{{ csrf_field() }}` inside a form."""
    name = current_app.config["WTF_CSRF_FIELD_NAME"]
    return Markup('<input type="hidden" name="{}" value="{}">').format(name, generate_csrf())


def init_app(app: Flask) -> None:
    app.config["MAX_CONTENT_LENGTH"] = app.config["MAX_CONTENT_LENGTH"] or MOST
    app.config.setdefault("WTF_CSRF_FIELD_NAME", "csrf")
    app.config.setdefault("WTF_CSRF_TIME_LIMIT", None)  # a form is good for as long as its session
    app.config.setdefault("WTF_CSRF_SSL_STRICT", False)  # some browsers send no Referer, and the secret is enough
    app.before_request(check)
    csrf.init_app(app)
    app.register_error_handler(CSRFError, show_stale)
    app.add_template_global(field, "csrf_field")
    app.after_request(harden)
