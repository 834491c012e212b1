"""Flask-WTF beside us: its check wants a token from the visitor's session, which our posts cannot carry.

The service that sends webhooks has no session, and a payment link works from any device. Our forms are guarded by
their sealed token and by where the browser says they come from; the shop's own forms stay as guarded as they were.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from flask import Flask

__all__ = ["exempt_from_csrf"]

View = Callable[..., Any]


def exempt_from_csrf(app: Flask, views: Sequence[View]) -> None:
    """Take these views, and no others, out of the app's `CSRFProtect`, whether it is set up before us or after."""

    def exempt() -> None:
        # Whoever uses Flask-WTF has loaded it. Other extensions call themselves "csrf" too.
        wtf, csrf = sys.modules.get("flask_wtf.csrf"), app.extensions.get("csrf")
        if wtf is not None and isinstance(csrf, wtf.CSRFProtect):
            for view in views:
                csrf.exempt(view)

    exempt()
    # The check of a CSRFProtect that is set up later is registered behind this, and so runs after it.
    app.before_request(exempt)
