"""Helpers with which a person of the shop opens the owner's pages and sends their forms."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from werkzeug.test import TestResponse

from tests.scripted import SAME_SITE, Shop

ROOT = "/paycheckout/owner"


def opens_view(shop: Shop, permission: Any = lambda: "Ada") -> Shop:
    shop.app.register_blueprint(shop.paycheckout.owner_view(permission))
    return shop


def opens(shop: Shop, path: str = "", **query: Any) -> TestResponse:
    """Open one of the owner's pages; returns the answer."""
    return shop.browser.get(ROOT + path, query_string=query or None)


def order_page(shop: Shop, order_id: str = "o-1") -> TestResponse:
    return opens(shop, "/order", order_id=order_id)


def payout_page(shop: Shop, reference: str = "maker-1") -> TestResponse:
    return opens(shop, "/payout", reference=reference)


def refund_page(shop: Shop, checkout_id: str) -> TestResponse:
    """The page on which a payment is refunded."""
    return opens(shop, "/refund", checkout=checkout_id)


def text_of(answer: TestResponse) -> str:
    """The visible text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def form_of(answer: TestResponse) -> tuple[str, dict[str, str]]:
    """The address of a page's form, and its hidden values."""
    match = re.search(r'<form class="decide" method="post" action="([^"]+)"', answer.text)
    assert match is not None
    fields = re.findall(r'<input [^>]*name="(seen|amount|why|replaces)"[^>]*value="([^"]*)"', answer.text)
    return html.unescape(match[1]), {name: html.unescape(value) for name, value in fields}


def sends(shop: Shop, page: TestResponse, headers: Mapping[str, str] = SAME_SITE, /, **fields: str) -> TestResponse:
    """Fill in and send the form of a page; returns the answer."""
    address, carried = form_of(page)
    return shop.browser.post(address, data=carried | fields, headers=headers)


def decides(shop: Shop, reference: str, decision: str, why: str = "checked", **fields: Any) -> TestResponse:
    """Send a decision on the page of a payout; returns the answer."""
    return sends(shop, payout_page(shop, reference), decision=decision, why=why, **fields)


def listed(answer: TestResponse) -> list[str]:
    """The orders on a page of the list."""
    rows = re.findall(r'<(?:h2|th scope="row")><a href="[^"]*/order\?order_id=[^"]*">([^<]*)</a>', answer.text)
    return [html.unescape(row) for row in rows]


def signed(shop: Shop, form: str, subject: str, who: object = "Ada") -> str:
    """The token of a form on the page for this person."""
    return shop.runtime.signed_links.sign(f"paycheckout_owner.{form}", f"{subject}\n{who}")
