"""The pay button: a template global for the shop's own pages."""

from __future__ import annotations

from flask import render_template
from markupsafe import Markup

from flask_paycheckout.views import language
from flask_paycheckout.views.order_urls import pay_path
from flask_paycheckout.views.words import pay_now

__all__ = ["paycheckout_button"]


def paycheckout_button(order_id: object, label: str | None = None) -> Markup:
    """A form that starts paying this order. It carries a signed token, and no price.

    :param label: on the button; "Pay now" when left out, in Flask-Babel's locale where the shop uses Flask-Babel, else
        in the first of PAYCHECKOUT_LANGUAGES.
    """
    text = pay_now(language.of_shop()) if label is None else label
    return Markup(render_template("paycheckout/button.html", action=pay_path(str(order_id)), label=text))  # noqa: S704 - rendered with autoescape
