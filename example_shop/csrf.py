"""No other site may send the shop's forms: every one carries a secret of its visitor's session."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from flask import abort, request, session
from markupsafe import Markup

if TYPE_CHECKING:
    from flask import Flask


def token() -> str:
    return str(session.setdefault("csrf", secrets.token_urlsafe(24)))


def field() -> Markup:
    """The hidden field, for `{{ csrf_field() }}` inside a form."""
    return Markup('<input type="hidden" name="csrf" value="{}">').format(token())


def check() -> None:
    # The extension's routes have their own defence, and the service's webhook knows no session.
    if request.method != "POST" or request.blueprint in ("paycheckout", "paycheckout_owner"):
        return
    given, expected = request.form.get("csrf", ""), session.get("csrf", "")
    if not expected or not hmac.compare_digest(given.encode(), expected.encode()):
        abort(400, "This form has grown stale. Go back, load the page again and send it once more.")


def init_app(app: Flask) -> None:
    app.before_request(check)
    app.add_template_global(field, "csrf_field")
