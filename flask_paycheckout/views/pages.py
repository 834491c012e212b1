"""What our pages have in common: their template, their words, and the headers that go with them."""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, render_template

from flask_paycheckout.runtime import runtime
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import nonce
from flask_paycheckout.views.words import Words

__all__ = ["page"]


def page(template: str, order_id: str, words: Words, status: int = 200, **context: Any) -> Response:
    """A page about an order, in the language of its words."""
    html = render_template(
        f"paycheckout/{template}", words=words, order_url=runtime().order_url(order_id), nonce=nonce(), **context
    )
    response = make_response(html, status)
    language.tell(response, words.language)
    return response
