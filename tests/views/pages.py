"""The customers' pages for tests, and a way to bring an order to each of its statuses."""

from __future__ import annotations

import re
from html import unescape

from flask import render_template_string
from werkzeug.test import TestResponse

from flask_paycheckout.security.signed_links import PAY, STATUS
from tests.scripted import SAME_SITE, Shop, refusal

PRODUCTION = {"TESTING": False, "PAYCHECKOUT_PUBLIC_URL": "https://shop.example"}
STATUSES = ["unpaid", "created", "pending", "paid", "held", "abandoned"]


def reach(shop: Shop, status: str) -> None:
    """Bring the order "o-1" to this status."""
    if status == "paid":
        shop.has_paid()
    elif status == "held":
        shop.has_held()
    elif status != "unpaid":
        deposit = {"pending": "pending", "abandoned": "failed"}
        shop.settles(shop.starts(), says=deposit.get(status))


def opens(shop: Shop, order_id: str = "o-1", suffix: str = "", language: str | None = None) -> TestResponse:
    """Open the status page, or a path below it; returns the answer."""
    return shop.browser.get(status_path(shop, order_id) + suffix, headers=_headers(language))


def status_path(shop: Shop, order_id: str = "o-1") -> str:
    """The address of the order's status page."""
    return f"/paycheckout/orders/{shop.runtime.signed_links.sign(STATUS, order_id)}"


def pay_path(shop: Shop, order_id: str = "o-1") -> str:
    """The address to which the order's pay button sends its form."""
    return f"/paycheckout/orders/{shop.runtime.signed_links.sign(PAY, order_id)}/checkout"


def presses_pay(shop: Shop, order_id: str = "o-1", language: str | None = None) -> TestResponse:
    """Press the order's pay button; returns the answer."""
    return shop.browser.post(pay_path(shop, order_id), headers={**SAME_SITE, **_headers(language)})


def fails_to_pay(shop: Shop, order_id: str = "o-1", language: str | None = None) -> TestResponse:
    """Press the pay button while the service is down, and return the answer."""
    shop.service.instead_of_created = [refusal(503)]
    return presses_pay(shop, order_id, language)


def button(shop: Shop, order_id: str = "o-1", label: str | None = None, language: str | None = None) -> str:
    """The order's pay button on a page of the shop's."""
    with shop.app.test_request_context(headers=_headers(language)):
        return render_template_string("{{ paycheckout_button(order_id, label=label) }}", order_id=order_id, label=label)


def heading(page: str) -> str:
    """The heading of a page."""
    (text,) = re.findall("<h1>(.*?)</h1>", page)
    return unescape(text)


def names(page: str, word: str) -> bool:
    """Whether a page has this word; a match inside a random token or nonce does not count."""
    return re.search(rf"(?<![A-Za-z0-9_-]){re.escape(word)}(?![A-Za-z0-9_-])", page) is not None


def _headers(language: str | None) -> dict[str, str]:
    return {} if language is None else {"Accept-Language": language}
