"""Rendering of pages for people, with security headers and formatted amounts."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import Any

from flask import Response, g, make_response, render_template

from flask_paycheckout.sandbox.wire.envelope import encode

_NO_BREAK = "\N{NO-BREAK SPACE}"


def page(template: str, status: int = 200, **context: object) -> Response:
    """Render a page under a strict Content-Security-Policy; scripts need this response's nonce."""
    # A request that was refused early has no nonce yet.
    nonce = g.setdefault("nonce", secrets.token_urlsafe(16))
    response = make_response(render_template(template, nonce=nonce, money=money, **context), status)
    response.headers.update(
        {
            "Content-Security-Policy": (
                "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none';"
                f" frame-ancestors 'none'; script-src 'nonce-{nonce}'"
            ),
            "Cache-Control": "no-store",
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        }
    )
    return response


def refusal_page(status: int, heading: str, words: str) -> Response:
    """A page that explains why a request was refused."""
    return page("refused.html", status, heading=heading, words=words)


def money(amount: Decimal, currency: str) -> str:
    """Format an amount, with a no-break space: `1,250.00 USD`."""
    return f"{amount:,f}{_NO_BREAK}{currency}"


def answer(body: dict[str, Any] | list[dict[str, Any]], status: int = 200) -> Response:
    return Response(encode(body), status, content_type="application/json")
