"""The choice of a page's language: by Flask-Babel where the shop uses it, else by the browser's preference."""

from __future__ import annotations

import sys

from flask import Response, current_app, request

from flask_paycheckout.runtime import runtime
from flask_paycheckout.translations.catalogues import Language, choose

__all__ = ["add_headers", "of_page", "of_shop"]


def of_page() -> Language:
    """The language of our own pages in this request."""
    chosen = _shops_locale()
    if chosen is not None:
        return choose([chosen], runtime().settings.languages)
    return choose(
        (tag for tag, quality in request.accept_languages if quality > 0),
        runtime().settings.languages,
    )


def of_shop() -> Language:
    """The language of our elements on the shop's own pages, which follow the shop and not the browser."""
    chosen = _shops_locale()
    return choose([chosen] if chosen else [], runtime().settings.languages)


def add_headers(response: Response, language: str) -> None:
    """Add `Content-Language`, and `Vary`, since the language depends on the reader."""
    response.content_language.add(language)
    response.vary.add("Accept-Language")


def _shops_locale() -> str | None:
    """The locale that Flask-Babel chose for this request; None in a shop that does not use it."""
    # A shop that uses Flask-Babel has imported it. Other extensions register as "babel" too, so check the type.
    flask_babel = sys.modules.get("flask_babel")
    if flask_babel is None or not type(current_app.extensions.get("babel")).__module__.startswith("flask_babel"):
        return None
    locale = flask_babel.get_locale()
    return None if locale is None else str(locale)
