"""CSRF protection: every form of the shop contains a secret from the visitor's session."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from flask import abort, current_app, request, session
from markupsafe import Markup

if TYPE_CHECKING:
    from flask import Flask

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


def check() -> None:
    # The extension's routes have their own protection, and the service's webhook has no session.
    if request.method != "POST" or request.blueprint in ("paycheckout", "paycheckout_owner"):
        return
    given, expected = request.form.get("csrf", ""), session.get("csrf", "")
    if not expected and current_app.config["SESSION_COOKIE_SECURE"] and not request.is_secure:
        abort(400, _BY_HTTPS)
    if not expected or not hmac.compare_digest(given.encode(), expected.encode()):
        abort(400, "This form has grown stale. Go back, load the page again and send it once more.")


def init_app(app: Flask) -> None:
    app.before_request(check)
    app.add_template_global(field, "csrf_field")
