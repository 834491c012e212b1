"""The pay button: a template global for the shop's own pages."""

from __future__ import annotations

from flask import render_template
from markupsafe import Markup

from flask_paycheckout.views import language
from flask_paycheckout.views.order_urls import pay_path
from flask_paycheckout.views.page_text import opens_new_tab, pay_now

__all__ = ["paycheckout_button"]


def paycheckout_button(order_id: str, label: str | None = None, *, new_tab: bool = False) -> Markup:
    """A form that starts paying this order. It carries a sealed token, and no price.

    :param label: on the button; "Pay now" when left out, in Flask-Babel's locale where the shop uses Flask-Babel, else
        in the first of PAYCHECKOUT_LANGUAGES.
    :param new_tab: True: the service's page opens in a new tab, which the button says, and the shop's page stays open.
        The service sends nobody back to the shop.
    """
    tongue = language.of_shop()
    text = pay_now(tongue) if label is None else label
    hint = opens_new_tab(tongue) if new_tab else None
    form = render_template("paycheckout/button.html", action=pay_path(order_id), label=text, new_tab_hint=hint)
    return Markup(form)  # noqa: S704 - rendered with autoescape
