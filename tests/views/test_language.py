"""The language of the customer's pages: chosen by Flask-Babel, else by the browser's preference, else English."""

from __future__ import annotations

import pytest
from flask import render_template_string
from flask_babel import Babel  # type: ignore[import-untyped]  # it has no types

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.views.pages import button, fails_to_pay, heading, opens

HEADINGS = {
    "en": "Not paid yet",
    "de": "Noch nicht bezahlt",
    "es": "Pendiente de pago",
    "ja": "お支払いがまだ済んでいません",
}


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de", "de"),
        ("fr-FR,ja;q=0.5,en;q=0.4", "ja"),
        (None, "en"),
        ("de;q=abc, es;q=2", "en"),
    ],
)
def test_the_page_is_in_the_browsers_language(shop: Shop, header: str | None, language: str) -> None:
    answer = opens(shop, language=header)
    assert (answer.status_code, heading(answer.text)) == (200, HEADINGS[language])
    assert f'<html lang="{language}"' in answer.text
    assert answer.headers["Content-Language"] == language
    assert answer.vary.as_set() >= {"accept-language"}


def test_a_shop_may_offer_some_languages_only_and_its_first_is_for_all_others(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_LANGUAGES=["ja", "de"])
    pages = [opens(shop, language=language).headers["Content-Language"] for language in ("de", "en", "es", "")]
    assert pages == ["de", "ja", "ja", "ja"]


def test_the_button_speaks_the_shops_language_and_not_the_browsers(open_shop: OpenShop) -> None:
    """The button is in the middle of the shop's own text."""
    assert "Pay now" in button(open_shop("english"), language="de")
    assert "Jetzt bezahlen" in button(open_shop("german", PAYCHECKOUT_LANGUAGES=["de", "en"]), language="en")


@pytest.mark.parametrize(
    ("chosen", "language"), [("de", "de"), ("de_AT", "de"), ("ja_JP", "ja"), ("fr", "en"), (None, "es")]
)
def test_flask_babel_decides_where_the_shop_uses_it(shop: Shop, chosen: str | None, language: str) -> None:
    Babel(shop.app, default_locale="es", locale_selector=lambda: chosen)
    answer = opens(shop, language="id")
    assert (heading(answer.text), answer.headers["Content-Language"]) == (HEADINGS[language], language)
    assert fails_to_pay(shop, language="id").headers["Content-Language"] == language
    labels = {"de": "Jetzt bezahlen", "ja": "今すぐ支払う", "en": "Pay now", "es": "Pagar ahora"}
    assert labels[language] in button(shop, language="id")


def test_flask_babel_decides_in_a_mail_too(open_shop: OpenShop) -> None:
    """A receiver or a command renders it without a request."""
    shop = open_shop(SERVER_NAME="shop.example")
    Babel(shop.app, locale_selector=lambda: "de")
    with shop.app.app_context():
        assert "Jetzt bezahlen" in render_template_string("{{ paycheckout_button('o-1') }}")
