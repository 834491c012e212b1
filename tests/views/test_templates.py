"""Customising the pages: a block, a whole template, the layout around them, the colours."""

from __future__ import annotations

import re

from jinja2 import DictLoader, StrictUndefined

from tests.scripted import Shop
from tests.views.pages import button, fails_to_pay, opens
from tests.views.test_owner import ROOT


def writes(shop: Shop, **templates: str) -> None:
    """The shop's own templates, by the name behind `paycheckout/`."""
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


LAYOUT = """<!doctype html><html lang="{{ words.language }}"><head><title>{% block title %}{% endblock %} - Shop</title>
{% block head %}<link rel="stylesheet" href="/shop.css">{% endblock %}</head>
<body><nav>Shop</nav>{% block content %}{% endblock %}</body></html>"""
AROUND = "{% extends 'paycheckout/layout.html' %}{% block content %}{% block main %}{% endblock %}{% endblock %}"


def test_the_pages_stand_in_the_shops_layout(shop: Shop) -> None:
    writes(shop, layout=LAYOUT, base=AROUND)
    page = opens(shop).text
    assert "<nav>Shop</nav>" in page
    assert re.search(r"<title>.+ - Shop</title>", page)
    assert '<link rel="stylesheet" href="/shop.css">' in page, "what the layout has in its head stays"
    assert 'http-equiv="refresh"' in page
    assert "status.js" in page
    assert page.count("<h1>") == 1
    assert "pico" not in page


def test_a_theme_comes_behind_our_own_styles(shop: Shop) -> None:
    theme = '<style nonce="{{ nonce }}">:root { --paycheckout-accent: #b00 }</style>'
    writes(shop, base=f"{{% extends 'paycheckout/default/base.html' %}}{{% block theme %}}{theme}{{% endblock %}}")
    answer = opens(shop)
    (nonce,) = re.findall(r'<style nonce="([\w-]+)">', answer.text)
    assert f"'nonce-{nonce}'" in answer.headers["Content-Security-Policy"]
    assert answer.text.index("paycheckout.css") < answer.text.index("--paycheckout-accent")


def test_a_shop_in_whose_templates_nothing_may_be_undefined_has_the_same_pages_and_buttons(desk: Shop) -> None:
    desk.app.jinja_env.undefined = StrictUndefined
    assert fails_to_pay(desk).status_code == 503
    desk.has_paid()
    assert "see your receipt" in button(desk)
    assert "Paid, thank you" in opens(desk).text
    for path in ("", "/order?id=o-1", "/payouts", "/requests", "/books", "/deeds", "/paybacks"):
        assert desk.browser.get(ROOT + path).status_code == 200
