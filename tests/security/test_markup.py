"""Markup in every external field: it adds no element or attribute to our pages."""

from __future__ import annotations

from collections import Counter

from werkzeug.test import TestResponse

from flask_paycheckout.text import is_order_id
from tests.scripted import Shop, refusal, success
from tests.views.pages import button, opens, presses_pay

PLAIN = "plain"
PAYLOADS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "</button></form><form action=//evil.example>",
    "</title><svg/onload=alert(1)>",
    "<!--",
    "--><iframe srcdoc='<script>alert(1)</script>'>",
    "{{ 7 ** 19 }}{% raw %}",
    "javascript:alert(1)",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example>",
    "\x00<b>\x08",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "\u2028<a href=\uff02>\ufeff",
)
# The text that a template shows if it ran the payload: long enough that no random token holds it.
EVALUATED = str(7**19)


def marks(page: str) -> Counter[str]:
    """The characters that make elements and attributes; external text has an entity in place of each."""
    return Counter(sign for sign in page if sign in "<>\"'")


def as_order_id(text: str) -> str:
    """The beginning of this text that fits into an order id."""
    return "".join(character for character in text if is_order_id(character))


def page_of(answer: TestResponse, status: int = 200) -> str:
    assert answer.status_code == status
    return answer.text


def pages(shop: Shop, text: str) -> dict[str, str]:
    """Every page, with this text in each field that reaches the extension from outside."""
    order_id = as_order_id(text)
    shop.costs("12.50", order_id)
    pages_ = {"button": button(shop, order_id, text), "unpaid": page_of(opens(shop, order_id))}
    service = shop.service
    service.instead_of_created = [refusal(503, text)]
    pages_["unavailable"] = page_of(presses_pay(shop, order_id), 503)
    service.instead_of_created = [success({"id": "of-unsafe", "url": f"https://pay.example/{text}\n"}, 201)] * 3
    pages_["unsafe URL"] = page_of(presses_pay(shop, order_id), 503)
    service.instead_of_created.clear()
    checkout_id = shop.starts(order_id)
    # A status with control characters is invalid, and would not change the payment.
    service.says(checkout_id, order_id, reference=text, paymentMethod=text, message=text)
    pages_["pending"] = page_of(opens(shop, order_id))
    shop.waits(minutes=1)
    service.says(checkout_id, "completed", inputCurrency=text, outputCurrency=text, note=text)
    pages_["held"] = page_of(opens(shop, order_id))
    pages_["nonsense"] = shop.browser.get(f"/paycheckout/orders/{text.replace('/', '_')}").text
    return pages_


def test_no_field_adds_an_element_or_attribute_to_a_page(shop: Shop) -> None:
    plain = pages(shop, PLAIN)
    for payload in PAYLOADS:
        for name, page in pages(shop, payload).items():
            # A page may leave out a sum whose currency is no text.
            assert not marks(page) - marks(plain[name]), (payload, name)
            assert "<script>alert" not in page
            assert EVALUATED not in page
            assert f'"{payload}' not in page, f"{name}: an attribute begins with what came from outside"


def test_a_label_is_text_even_where_the_shop_escapes_nothing_by_itself(shop: Shop) -> None:
    """Our button must be safe on the pages of shops that turn Jinja's autoescape off."""
    plain = button(shop, "o-1", PLAIN)
    shop.app.jinja_env.autoescape = False
    shop.app.jinja_env.cache.clear()  # type: ignore[union-attr]
    for payload in PAYLOADS:
        assert marks(button(shop, "o-1", payload)) == marks(plain)
