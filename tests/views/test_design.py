"""The look of the customers' pages: the shop's name, logo, colour and contact, and the pages' size."""

from __future__ import annotations

import gzip
import re
from urllib.parse import urljoin

import pytest

from flask_paycheckout import ConfigurationError
from flask_paycheckout.views.colours import contrast, readable_accents
from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.views.owner import ROOT, opens_view, text_of
from tests.views.pages import button, fails_to_pay, opens, presses_pay, reach, status_path

WHITE, INK = "#ffffff", "#10161d"


def channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


@pytest.mark.parametrize("accent", ["#8a2b0b", "#ffe000", "#000000", "#ffffff", "#0b5c8a", "#7f7f7f"])
def test_every_accent_becomes_one_that_can_be_read_in_light_and_dark(accent: str) -> None:
    light, dark = readable_accents(accent)
    assert contrast(channels(light), channels(WHITE)) >= 4.5
    assert contrast(channels(dark), channels(INK)) >= 4.5


def test_an_accent_that_can_be_read_is_left_as_it_is() -> None:
    assert readable_accents("#8a2b0b")[0] == "#8a2b0b"
    assert round(contrast(channels(WHITE), (0, 0, 0)), 1) == 21


def test_each_page_shows_whose_it_is_and_how_to_reach_the_shop(open_shop: OpenShop) -> None:
    shop = open_shop(
        PAYCHECKOUT_SHOP_NAME="Ada Ink",
        PAYCHECKOUT_LOGO="/static/logo.svg",
        PAYCHECKOUT_ACCENT="#8A2B0B",
        PAYCHECKOUT_CONTACT="ada@ink.example",
        PAYCHECKOUT_SELLER="Ada Ink, 1 Quay",
    )
    opens_view(shop)
    owners = [shop.browser.get(f"{ROOT}{path}") for path in ("", "/order?order_id=nothing")]
    customers = [opens(shop), fails_to_pay(shop), shop.browser.get("/paycheckout/orders/forged")]
    for page in (*owners, *customers):
        assert '<img src="/static/logo.svg" alt="">Ada Ink' in page.text
        assert "--paycheckout-accent: #8a2b0b" in page.text
    for page in customers:
        assert '<a href="mailto:ada@ink.example">ada@ink.example</a>' in page.text
        assert "Ada Ink, 1 Quay" in text_of(page)


def test_a_shop_without_these_settings_has_no_empty_places_for_them(shop: Shop) -> None:
    page = opens(shop).text
    assert ("<img" in page, "<style" in page, "paycheckout-foot" in page) == (False, False, False)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("LOGO", "https://cdn.example/logo.svg", "no path of the shop"),
        ("LOGO", "//cdn.example/logo.svg", "no path of the shop"),
        ("ACCENT", "red; } body { display: none", "no colour"),
        ("CONTACT", "javascript:alert(1)", "neither an e-mail address nor the address of a page"),
        ("CONTACT", "ada@ink.example?cc=eve@x.example", "neither an e-mail address nor the address of a page"),
    ],
)
def test_a_setting_that_no_page_could_show_is_refused(open_shop: OpenShop, key: str, value: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        open_shop(**{f"PAYCHECKOUT_{key}": value})


def test_pay_buttons_open_a_new_tab_where_the_shop_wants_it(shop: Shop, open_shop: OpenShop) -> None:
    assert "_blank" not in opens(shop).text + button(shop)
    other = open_shop(PAYCHECKOUT_NEW_TAB=True)
    assert 'target="_blank" rel="noopener"' in button(other)
    assert 'target="_blank" rel="noopener"' in opens(other).text


@pytest.mark.parametrize("status", ["unpaid", "pending", "paid"])
def test_a_page_weighs_less_than_30_kb_with_all_that_it_loads(shop: Shop, status: str) -> None:
    reach(shop, status)
    page = opens(shop)
    loaded = re.findall(r'(?:<link rel="stylesheet" href|<script[^>]* src)="([^"]+)"', page.text)
    bodies = [page.data]
    for path in loaded:
        with shop.browser.get(urljoin(status_path(shop), path)) as file:
            assert file.status_code == 200
            bodies.append(file.data)
    assert len(bodies) >= 2
    assert sum(map(len, bodies)) < 30_000
    assert sum(len(gzip.compress(sent)) for sent in bodies) < 10_000


def test_a_button_that_is_pressed_too_late_finds_whom_to_ask(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_CONTACT="https://ink.example/help")
    shop.totals["o-1"] = None
    page = presses_pay(shop)
    assert (page.status_code, "Questions? ink.example/help" in text_of(page)) == (404, True)
