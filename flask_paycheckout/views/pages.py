"""Rendering of the customer's pages: template, text and language headers."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, make_response, render_template

from flask_paycheckout.runtime import runtime
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import nonce
from flask_paycheckout.views.page_text import PageText, bad_link_text, named_order
from flask_paycheckout.views.refund_text import RefundText

__all__ = ["bad_link_page", "page", "seconds_to_wait"]

_RETRY_AFTER = 10


def page(
    template: str, order_id: str | None, text: PageText | RefundText, status: int = 200, **context: Any
) -> Response:
    """Render a page about an order, or, without an id, about none.

    :param text: the page's text, which is also the variable `words` of the template.
    """
    settings = runtime().settings
    about = [settings.shop_name or current_app.name]
    if order_id is not None and settings.show_total:
        about.insert(0, named_order(order_id, language.of_page()))
    html = render_template(
        f"paycheckout/{template}",
        words=text,
        about=" · ".join(about),
        order_url=None if order_id is None else runtime().answers.order_url(order_id),
        nonce=nonce(),
        **context,
    )
    response = make_response(html, status)
    language.add_headers(response, text.language)
    return response


def bad_link_page() -> Response:
    """Render the one page for all forged, expired and misused links, which reveals no order."""
    return page("bad_link.html", None, bad_link_text(language.of_page()), 404)


def seconds_to_wait(error: Exception) -> int:
    """The value of `Retry-After` after an error: what the service asked for, within bounds, or a short time."""
    return min(max(int(getattr(error, "retry_after", None) or _RETRY_AFTER), 1), 3600)
