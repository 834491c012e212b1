"""The shop's own titles of orders: on the owner's pages, in the accounting file, and never stored or logged."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from flask import url_for

from flask_paycheckout import Described, Line, ToBank
from flask_paycheckout.books import customers
from tests.alarming import alarms_of, examples, text_of as text_of_report
from tests.books.conftest import contents
from tests.books.test_alarms import orders
from tests.payouts.shop import refunds
from tests.scripted import Shop, raising
from tests.views.owner import listed, opens, opens_view, order_page, payout_page, text_of
from tests.views.pages import opens as customers_page

CANARY = "Ines Carvalho"
raises = raising(LookupError(f"no {CANARY} here"))
HONEY = Line("Forest honey, 500 g", "25.00", quantity=2)


@pytest.fixture
def asked_ids(shop: Shop) -> list[list[str]]:
    """The order ids of each call of the shop's function, which has a title for each order."""
    questions: list[list[str]] = []

    @shop.paycheckout.describe_orders
    def describe(order_ids: Sequence[str]) -> dict[str, Described]:
        questions.append(list(order_ids))
        address = url_for("paycheckout.static", filename="pico.min.css")
        return {each: Described(CANARY, "ines@example.org", address, [HONEY], f"note of {each}") for each in order_ids}

    opens_view(shop)
    return questions


def bank(name: str) -> ToBank:
    return ToBank(name, "40001234", "river", "River Bank")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("山田\u3000太郎", "山田\u3000太郎"),
        ("Prix\u00a0: 5\u202f€", "Prix\u00a0: 5\u202f€"),
        ("Ada\u3000\u3000Bo", "Ada\\u3000\\u3000Bo"),
        ("Ada \u00a0Bo\u3000", "Ada \\xa0Bo\\u3000"),
        ("علی\u200cرضا", "علی\u200cرضا"),
        ("क्\u200dष", "क्\u200dष"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("A\u200dda", "A\\u200dda"),
        ("é\u00a0\u200d\u00a0é", "é\\xa0\\u200d\\xa0é"),
    ],
    ids=[
        *("Japanese", "French", "a run of blanks", "blanks at ends"),
        *("Persian", "Hindi", "emoji", "Latin", "blanks that are joined"),
    ],
)
def test_invisible_signs_of_scripts_and_keyboards_are_shown_as_they_were_typed(
    shop: Shop, typed: str, shown: str
) -> None:
    """Runs of blanks would push the next text out of sight, and joiners in Latin text make two names look alike."""
    shop.paycheckout.describe_orders(lambda order_ids: dict.fromkeys(order_ids, Described(typed)))
    opens_view(shop)
    shop.has_paid()
    assert shown in opens(shop).text
    assert f"Order o-1, {shown}" in shop.runs("export", "--format", "accounting").stdout


def test_a_page_asks_once_and_names_each_customer(shop: Shop, asked_ids: list[list[str]]) -> None:
    for order_id in orders(shop, 3):
        shop.has_paid(order_id)
    page = opens(shop)
    assert len(listed(page)) == page.text.count(CANARY) == 3
    assert page.text.count("mailto:ines") == 3
    assert [sorted(question) for question in asked_ids] == [sorted(listed(page))]


def test_the_orders_page_tells_what_was_ordered_and_leads_to_the_shops_own(
    shop: Shop, asked_ids: list[list[str]]
) -> None:
    shop.has_paid()
    page = order_page(shop)
    assert "2 × Forest honey, 500 g, $25.00" in text_of(page)
    assert "note of o-1" in page.text
    assert 'href="/paycheckout/assets/pico.min.css">See the order' in page.text


def test_a_name_with_and_without_its_joiners_is_one_name(shop: Shop) -> None:
    shop.paycheckout.describe_orders(lambda order_ids: dict.fromkeys(order_ids, Described("علی\u200cرضا")))
    opens_view(shop)
    refund = refunds(shop, shop.has_paid(), "5.00", to=bank("علیرضا"))
    shop.executes(shop.runtime.models.payouts.update().values(status="waiting", state="waiting"))
    assert "has the same name." in text_of(payout_page(shop, refund.reference))


@pytest.mark.parametrize(("name", "words"), [("INES  Carvalho", "the same name"), ("Yuri Dahl", "another name")])
def test_an_approver_is_told_whether_payee_and_customer_have_one_name(
    shop: Shop, asked_ids: list[list[str]], name: str, words: str
) -> None:
    refund = refunds(shop, shop.has_paid(), "5.00", to=bank(name))
    shop.executes(shop.runtime.models.payouts.update().values(status="waiting", state="waiting"))
    page = text_of(payout_page(shop, refund.reference))
    assert f"The order's customer, {CANARY}, has {words}." in page
    assert f"Order o-1, {CANARY}" in text_of(opens(shop)) or f"(order o-1, {CANARY})" in text_of(opens(shop))


def test_the_lines_of_an_order_are_there_for_its_receipt(shop: Shop, asked_ids: list[list[str]]) -> None:
    with shop.app.app_context():
        assert shop.runtime.customers.lines_of("o-1") == [HONEY]


def test_a_shop_that_fails_or_is_late_leaves_the_page_without_it_and_the_log_without_its_words(
    shop: Shop, asked_ids: list[list[str]], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    shop.has_paid()
    ended = threading.Event()
    shop.paycheckout.describe_orders(raises)
    assert listed(opens(shop)) == ["o-1"]
    assert "LookupError in" in caplog.text

    @shop.paycheckout.describe_orders
    def waits(order_ids: Sequence[str]) -> dict[str, Described]:
        ended.wait(10)
        return {"o-1": Described(CANARY)}

    shop.waits(minutes=5)
    monkeypatch.setattr(customers, "PATIENCE", 0.01)
    page = opens(shop)
    ended.set()
    assert listed(page) == ["o-1"]
    assert CANARY not in page.text
    assert "did not answer" in caplog.text
    assert CANARY not in caplog.text


def test_the_shop_may_empty_the_list_that_it_is_asked_with(shop: Shop) -> None:
    @shop.paycheckout.describe_orders
    def describe(order_ids: list[str]) -> dict[str, Described]:
        return {order_ids.pop(): Described(CANARY) for _ in range(len(order_ids))}

    with shop.app.app_context():
        assert [*shop.runtime.customers.described(["o-1", "o-2"])] == ["o-1", "o-2"]


class GivenUp(BaseException):
    """An error like the timeouts of gevent and eventlet."""


WRONG_ANSWERS = {
    "raises": ("describe_orders", raises, "LookupError in "),
    "gives up": ("describe_orders", raising(GivenUp(CANARY)), "GivenUp in "),
    "a list": ("describe_orders", lambda ids: [Described(CANARY)], "must return a dict, not list"),
    "names": ("describe_orders", lambda ids: dict.fromkeys(ids, CANARY), "must give a Described for an order, not str"),
    "numbers": ("describe_orders", lambda ids: {1: Described(CANARY)}, "ids of orders as strings, not int"),
    "finding raises": ("find_orders", raises, "LookupError in "),
    "finds a number": ("find_orders", lambda text, limit: 1, "must return a list of order ids, not int"),
    "finds a text": ("find_orders", lambda text, limit: "o-1", "must return a list of order ids, not str"),
    "finds numbers": ("find_orders", lambda text, limit: [1, 2], "ids of orders as strings, not int"),
}


@pytest.mark.parametrize(("function", "fails", "told"), WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_a_describing_function_that_fails_is_an_alarm_until_it_works(
    shop: Shop, asked_ids: list[list[str]], function: str, fails: Any, told: str
) -> None:
    shop.has_paid()
    works = shop.runtime.callbacks.describe_orders if function == "describe_orders" else lambda text, limit: ["o-1"]
    register = getattr(shop.paycheckout, function)
    register(fails)
    for _ in range(2):
        assert order_page(shop).status_code == customers_page(shop).status_code == 200
        assert opens(shop, search="carvalho").status_code == 404, "nothing is found"
        assert shop.runs("export", "--format", "accounting").exit_code == 0
        shop.reconciles(minutes=6)
    alarm = alarms_of(shop)[key := f"failing-descriptions:{function}"]
    assert alarm.severity == "today"
    (example,) = examples(shop, key)
    assert told in example
    assert ("Order o-1" if function == "describe_orders" else "The owner's pages") in example
    assert CANARY not in text_of_report(shop)
    register(works)
    shop.reconciles(minutes=10)
    opens(shop, search="carvalho")
    assert key not in alarms_of(shop)


def test_nothing_of_it_is_stored_or_shown_by_repr(shop: Shop, asked_ids: list[list[str]]) -> None:
    checkout_id = shop.has_held()
    refunds(shop, checkout_id, "0.50")
    for path, query in (("", {}), ("/order", {"order_id": "o-1"}), ("/paybacks", {}), ("/payouts", {})):
        assert opens(shop, path, **query).status_code == 200
    assert CANARY not in str(contents(shop))
    assert "Forest" not in f"{HONEY!r}{Described(CANARY, lines=[HONEY])!r}"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "//evil.example/x", "/a\\b", "ftp://x", "/a b"])
def test_no_other_address_is_linked(url: str) -> None:
    assert Described(url=url).link is None
    assert Described(url="https://shop.example/o/1").link == "https://shop.example/o/1"


def test_wrong_types_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"Described\.customer must be a string"):
        Described(customer=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Line\.amount must be a Decimal, int or str, not float"):
        Line("honey", 2.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Described\.lines"):
        Described(lines="honey")  # type: ignore[arg-type]


def test_the_shop_finds_orders_that_are_paid_for(shop: Shop, asked_ids: list[list[str]]) -> None:
    results: list[tuple[str, int]] = []

    @shop.paycheckout.find_orders
    def find(text: str, limit: int) -> list[Any]:
        results.append((text, limit))
        return ["nobody-paid", "o-2", "o-1", "x" * 999]

    for order_id in ("o-1", "o-2"):
        shop.has_paid(order_id)
    page = opens(shop, search="carvalho")
    assert listed(page) == ["o-2", "o-1"]
    assert "nobody-paid" not in page.text
    assert results == [("carvalho", 25)]
