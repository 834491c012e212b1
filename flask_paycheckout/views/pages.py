"""What our pages have in common: their template, their words, and the headers that go with them."""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, render_template

from flask_paycheckout.runtime import runtime
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import nonce
from flask_paycheckout.views.page_text import Words, bad_link_words

__all__ = ["bad_link_page", "page"]


def page(template: str, order_id: str | None, words: Words, status: int = 200, **context: Any) -> Response:
    """A page about an order, or about none, in the language of its words."""
    order_url = None if order_id is None else runtime().order_url(order_id)
    html = render_template(f"paycheckout/{template}", words=words, order_url=order_url, nonce=nonce(), **context)
    response = make_response(html, status)
    language.tell(response, words.language)
    return response


def bad_link_page() -> Response:
    """One page for every link that is forged, expired, or made for another purpose: it tells of no order."""
    return page("bad_link.html", None, bad_link_words(language.of_page()), 404)
