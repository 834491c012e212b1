"""Amounts on the pages: shown only if the shop enables it, exactly, and in the customer's notation."""

from __future__ import annotations

import re
import sys
from decimal import Context, Decimal, Inexact, localcontext

import pytest
from babel.numbers import get_decimal_symbol

from flask_paycheckout import ByHand, Pay, Receive
from flask_paycheckout.views.language import format_amount
from tests.chance import seed_of, stream
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.scripted import Shop, number
from tests.views.owner import text_of
from tests.views.pages import names, opens

NBSP = "\N{NO-BREAK SPACE}"


def formatted(shop: Shop, amount: Decimal, currency: str, tag: str) -> str:
    """The amount on a page in this language."""
    with shop.app.test_request_context(headers={"Accept-Language": tag}):
        return format_amount(Pay(amount, currency).amount, currency)


_WRITTEN = [
    ("1234.50", "USD", "en", "$1,234.50"),
    ("1234.50", "USD", "en-GB", "US$1,234.50"),
    ("1234.50", "EUR", "de", f"1.234,50{NBSP}€"),
    ("234.50", "CHF", "de-CH", f"CHF{NBSP}234.50"),
    ("1234", "JPY", "ja", "￥1,234"),
    # Babel's tables have fewer decimals than the standard; digits are never rounded away.
    ("1.234", "IQD", "de", f"1,234{NBSP}IQD"),
    ("0.000000000000000001", "eth-ethereum", "de", f"0,000000000000000001{NBSP}eth-ethereum"),
    ("12.5", "EUR", "de-Qaaa-999", f"12,50{NBSP}€"),
]


def test_an_amount_is_written_as_the_customer_writes_it(shop: Shop) -> None:
    for amount, currency, tag, text in _WRITTEN:
        assert formatted(shop, Decimal(amount), currency, tag) == text


def test_no_digit_is_lost_however_long_the_amount(shop: Shop, pytestconfig: pytest.Config) -> None:
    chance = stream(seed_of(pytestconfig), "amounts on pages")
    for _ in range(300):
        currency, places = chance.choice([("USD", 2), ("JPY", 0), ("BHD", 3), ("CLF", 4), ("usdc-polygon", 18)])
        amount = Decimal(f"{chance.randrange(1, 10 ** chance.randrange(1, 36))}E-{places}")
        tag = chance.choice(["en", "de", "es", "id", "ja", "de-CH", "en-IN"])
        with localcontext(prec=6):
            text = formatted(shop, amount, currency, tag)
        point = get_decimal_symbol(tag.replace("-", "_"))
        digits = re.sub(rf"[^0-9{re.escape(point)}]", "", text.removesuffix(currency)).strip(point)
        assert Decimal(digits.replace(point, ".")) == amount, (amount, currency, tag, text)


def test_the_refunded_amount_is_exact_in_any_decimal_context_of_the_shop(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    for _ in range(2):
        refunds(shop, checkout_id, "6.17", to=ByHand())
    with localcontext(Context(prec=2, traps=[Inexact])):
        assert "Refund refunded $12.34" in text_of(opens(shop))


def test_the_fee_is_named_if_the_shop_fixes_the_received_amount(shop: Shop) -> None:
    shop.totals["o-1"] = Receive("12.50", "USD", pay_in="USD")
    page = text_of(opens(shop))
    assert "To pay, plus the fee of your payment method $12.50" in page
    assert "Pay $12.50 and the fee" in page


def test_an_order_in_parts_shows_them_what_is_left_and_a_button_for_the_rest(shop: Shop) -> None:
    shop.costs("100", now="30")
    assert "To pay now, of $100.00 $30.00" in text_of(opens(shop))
    shop.settles(shop.starts(), "completed", inputAmount=number("30"))
    shop.costs("100")
    page = text_of(opens(shop))
    for text in ("Partly paid", "Arrived $30.00", "Left to pay $70.00", "Pay $70.00"):
        assert text in page, text
    json = opens(shop, suffix="/status").json
    assert json == {"status": "part", "final": False, "pollAfter": 2}
    shop.costs("30")
    assert opens(shop).status_code == 303
    assert "Paid, thank you" in opens(shop).text


def test_each_instalment_is_on_the_receipt(shop: Shop) -> None:
    shop.costs("25", now="5")
    for _ in range(5):
        shop.settles(shop.starts(), "completed", inputAmount=number("5"))
    page = text_of(opens(shop))
    assert ("Paid, thank you" in page, page.count("Arrived $5.00"), "$25.00 Paid" in page) == (True, 5, True)


def test_without_the_setting_neither_order_nor_amount_is_shown_in_any_language(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_SHOW_TOTAL=False)
    assert not names(opens(shop).text, "o-1")
    shop.costs("4711.12")
    for language in ("en", "de", "ja"):
        # Matched as a word, because a random token may contain these digits.
        assert not re.search(r"(?<![A-Za-z0-9_-])4.?711(?![A-Za-z0-9_-])", opens(shop, language=language).text)


def test_without_babel_amounts_and_dates_are_plain_and_not_broken_into_two_lines(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.has_paid()
    monkeypatch.setitem(sys.modules, "babel", None)
    day = "2026-01-01".replace("-", "\N{NON-BREAKING HYPHEN}")
    page = text_of(opens(shop))
    assert "12.50 USD Paid, thank you" in page
    assert f"Paid on {day} 12:00 UTC" in page
