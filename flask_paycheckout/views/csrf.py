"""Exemption from Flask-WTF's CSRF check, which requires a token from the visitor's session.

The service that sends webhooks has no session, and a payment link works from any device. Our forms are protected by
their encrypted token and by the browser's `Sec-Fetch-Site` or `Origin` header; the shop's own forms stay checked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from flask import Flask

__all__ = ["exempt_from_csrf"]

View = Callable[..., Any]


def exempt_from_csrf(app: Flask, views: Sequence[View]) -> None:
    """Exempt these views from the app's `CSRFProtect`, whether it is set up before this extension or after."""

    def exempt() -> None:
        # An app that uses Flask-WTF has imported it. Other extensions register as "csrf" too, so check the type.
        wtf, csrf = sys.modules.get("flask_wtf.csrf"), app.extensions.get("csrf")
        if wtf is not None and isinstance(csrf, wtf.CSRFProtect):
            for view in views:
                csrf.exempt(view)

    exempt()
    # A CSRFProtect that is set up later registers its check behind this one, which therefore still comes first.
    app.before_request(exempt)
