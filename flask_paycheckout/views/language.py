"""Which language a customer reads: the shop's own choice where it uses Flask-Babel, else the browser's."""

from __future__ import annotations

import sys

from flask import Response, current_app, request

from flask_paycheckout.runtime import runtime
from flask_paycheckout.translations.catalogues import Tongue, choose

__all__ = ["of_page", "of_shop", "tell"]


def of_page() -> Tongue:
    """For a page of ours."""
    chosen = _shops_locale()
    if chosen is not None:
        return choose([chosen], runtime().settings.languages)
    return choose(
        (tag for tag, quality in request.accept_languages if quality > 0),
        runtime().settings.languages,
    )


def of_shop() -> Tongue:
    """For a part of the shop's own page, which is not ours to write in whatever the browser likes."""
    chosen = _shops_locale()
    return choose([chosen] if chosen else [], runtime().settings.languages)


def tell(response: Response, language: str) -> None:
    """Say in the headers what language an answer is in, and that another reader may get another."""
    response.content_language.add(language)
    response.vary.add("Accept-Language")


def _shops_locale() -> str | None:
    """The locale that Flask-Babel chose for this request; None where the shop does not use it."""
    # Whoever uses it has loaded it. Other extensions may call themselves "babel" too.
    flask_babel = sys.modules.get("flask_babel")
    if flask_babel is None or not type(current_app.extensions.get("babel")).__module__.startswith("flask_babel"):
        return None
    locale = flask_babel.get_locale()
    return None if locale is None else str(locale)
