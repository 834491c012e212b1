"""The pay button: a template global for the shop's own pages."""

from __future__ import annotations

from flask import render_template
from markupsafe import Markup

from flask_paycheckout.views import language
from flask_paycheckout.views.order_urls import pay_path
from flask_paycheckout.views.page_text import opens_new_tab, pay_now

__all__ = ["paycheckout_button"]


def paycheckout_button(order_id: str, label: str | None = None, *, new_tab: bool = False) -> Markup:
    """A form that starts the payment of this order. It contains an encrypted token, and no price.

    :param label: the text of the button; by default "Pay now" in Flask-Babel's locale, or in the first of
        PAYCHECKOUT_LANGUAGES where the shop does not use Flask-Babel.
    :param new_tab: open the service's page in a new tab, and say so on the button. The shop's page then stays open;
        the service has no link back to the shop.
    """
    shop_language = language.of_shop()
    text = pay_now(shop_language) if label is None else label
    hint = opens_new_tab(shop_language) if new_tab else None
    form = render_template("paycheckout/button.html", action=pay_path(order_id), label=text, new_tab_hint=hint)
    return Markup(form)  # noqa: S704 - rendered with autoescape
