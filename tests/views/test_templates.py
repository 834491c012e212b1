"""Customising the pages: a block, a whole template, the layout around them, the colours."""

from __future__ import annotations

from jinja2 import DictLoader, StrictUndefined

from tests.scripted import Shop
from tests.views.owner import ROOT
from tests.views.pages import button, fails_to_pay, opens


def writes(shop: Shop, **templates: str) -> None:
    """Write the shop's own templates, by the name after `paycheckout/`."""
    shop.app.jinja_loader = DictLoader({f"paycheckout/{name}.html": text for name, text in templates.items()})


def test_a_block_of_the_status_page_is_the_shops_and_the_rest_stays(shop: Shop) -> None:
    writes(
        shop,
        order="{% extends 'paycheckout/default/order.html' %}"
        "{% block actions %}{{ super() }}<p>Call Ada</p>{% endblock %}",
    )
    page = opens(shop).text
    assert "<p>Call Ada</p>" in page
    assert "<h1>Not paid yet</h1>" in page
    assert "<form" in page
    assert "status.js" in page


def test_a_whole_template_is_the_shops(shop: Shop) -> None:
    writes(shop, order="{{ standing.status }}: {{ words.sentence }}", unavailable="later, {{ words.when }}")
    assert opens(shop).text == "unpaid: This order is waiting for your payment."
    assert fails_to_pay(shop).text.startswith("later, Please try again")


def test_a_shop_in_whose_templates_nothing_may_be_undefined_has_the_same_pages_and_buttons(desk: Shop) -> None:
    desk.app.jinja_env.undefined = StrictUndefined
    assert fails_to_pay(desk).status_code == 503
    desk.has_paid()
    assert "see your receipt" in button(desk)
    assert "Paid, thank you" in opens(desk).text
    for path in ("", "/order?order_id=o-1", "/payouts", "/pay", "/requests", "/books", "/deeds", "/paybacks"):
        assert desk.browser.get(ROOT + path).status_code == 200
    assert "To the payments" in desk.browser.get(ROOT + "/order?order_id=o-2").text
