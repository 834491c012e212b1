"""Starts whose answer is lost, late, truncated or malformed: no customer is ever sent to a page that is not stored."""

from __future__ import annotations

import httpx
import pytest

from tests.conftest import OpenShop
from tests.scripted import NO_RETRY, Answer, Shop, garbage, refusal, success
from tests.views.pages import presses_pay

PAGE = "https://pay.example/checkout/lost"


def whole(**data: object) -> bytes:
    return success(data, 201)


def cut_off() -> httpx.Response:
    """The first half of a valid answer, without the rest."""
    body = whole(id="lost", url=PAGE)
    return httpx.Response(200, content=body[: len(body) // 2], headers=NO_RETRY)


ANSWERS = [
    pytest.param(httpx.ReadTimeout("late"), id="done, but no answer in time"),
    pytest.param(cut_off(), id="cut off"),
    pytest.param(garbage(), id="a proxy's page"),
    pytest.param(httpx.Response(302, headers={"Location": PAGE} | NO_RETRY), id="a redirect"),
    pytest.param(refusal(500), id="its own failure"),
    pytest.param(whole(url=PAGE), id="no id"),
    pytest.param(whole(id="x" * 300, url=PAGE), id="an id too long to store"),
    pytest.param(whole(id="a\nb", url=PAGE), id="an id that is no text to show"),
    pytest.param(whole(id="lost"), id="no url"),
    pytest.param(whole(id="lost", url="http://pay.example/lost"), id="a url without encryption"),
    pytest.param(whole(id="chk-1", url=PAGE), id="the id of another order's checkout"),
]


@pytest.fixture
def hasty_shop(open_shop: OpenShop) -> Shop:
    """A shop without time for a retry, in which order "o-2" was started as "chk-1"."""
    shop = open_shop()
    shop.starts("o-2")
    caller = shop.runtime.client._caller
    caller.retries = caller.retries.limited(0.04)
    return shop


def stored(shop: Shop) -> set[str]:
    return {attempt.url for order_id in shop.totals for attempt in shop.attempts(order_id)}


@pytest.mark.parametrize("answer", ANSWERS)
def test_without_a_usable_answer_nobody_is_sent_anywhere(hasty_shop: Shop, answer: Answer) -> None:
    shop = hasty_shop
    before = stored(shop)
    shop.service.instead_of_created = [answer] * 9
    refused = presses_pay(shop)
    assert refused.status_code == 503
    assert "Location" not in refused.headers
    assert PAGE not in refused.text
    assert stored(shop) == before

    shop.service.instead_of_created = []
    sent = presses_pay(shop)
    assert sent.status_code == 303
    assert stored(shop) == before | {sent.location}
    assert presses_pay(shop).location == sent.location, "and it is the one that counts from now on"
