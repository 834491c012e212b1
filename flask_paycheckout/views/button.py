"""The pay button: a template global for the shop's own pages."""

from __future__ import annotations

from collections.abc import Callable

from flask import g, render_template
from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.database.order_ids import require_order_id
from flask_paycheckout.operations.app import operations
from flask_paycheckout.translations.catalogues import Language
from flask_paycheckout.views import language
from flask_paycheckout.views.order_urls import pay_path, status_path
from flask_paycheckout.views.page_text import opens_new_tab, pay_now, see_payment, see_receipt

__all__ = ["paycheckout_button"]

_LINKS: dict[str | None, Callable[[Language], str]] = {
    Status.PENDING: see_payment,
    Status.HELD: see_payment,
    Status.PAID: see_receipt,
}


def paycheckout_button(order_id: str, label: str | None = None, *, new_tab: bool = False) -> Markup:
    """A form that starts the payment of this order; a link to its status page while one is on its way, held or made.

    The form contains an encrypted token, and no price. The order's status is one query, and none where this request has
    asked `paycheckout.order_statuses` for it.

    :param label: the text of the button; by default "Pay now" in Flask-Babel's locale, or in the first of
        PAYCHECKOUT_LANGUAGES where the shop does not use Flask-Babel.
    :param new_tab: open the service's page in a new tab, and say so on the button. The shop's page then stays open;
        the service has no link back to the shop.
    """
    shop_language = language.of_shop()
    name = _LINKS.get(_status_of(order_id))
    if name is not None:
        link = render_template("paycheckout/button.html", link=status_path(order_id), label=name(shop_language))
        return Markup(link)  # noqa: S704 - rendered with autoescape
    text = pay_now(shop_language) if label is None else label
    hint = opens_new_tab(shop_language) if new_tab else None
    form = render_template("paycheckout/button.html", action=pay_path(order_id), label=text, new_tab_hint=hint)
    return Markup(form)  # noqa: S704 - rendered with autoescape


def _status_of(order_id: str) -> str | None:
    asked: dict[str, str] = g.get("paycheckout_statuses", {})
    try:
        return asked.get(require_order_id(order_id)) or operations().order_status(order_id)
    except SQLAlchemyError:
        # The form asks again when it is sent, so a database that is away costs no shop its page.
        return None
