"""Many customers' clicks on one order's button: one page, and no URL that is not stored."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Barrier

import pytest

from flask_paycheckout import Pay
from tests.races.crowds import PATIENCE, Crowd, crowd
from tests.scripted import SAME_SITE, Shop

pytestmark = pytest.mark.on_each_database

THREADS, ROUNDS = 32, 5


@pytest.fixture
def shop(crowded_shop: Shop) -> Shop:
    return crowded_shop


@pytest.fixture
def clicks() -> Iterator[Crowd]:
    with crowd(THREADS) as threads:
        yield threads


def all_press_pay(shop: Shop, clicks: Crowd, order_id: str) -> set[str]:
    """Nobody's checkout is stored before everybody's is being made; gives where the browsers were sent."""
    with shop.app.app_context():
        url = shop.paycheckout.pay_url(order_id)
    everybody = Barrier(THREADS, timeout=PATIENCE)

    def meanwhile() -> None:
        everybody.wait()

    shop.service.meanwhile = meanwhile
    answers = clicks.does([lambda: shop.browser.post(url, headers=SAME_SITE)] * THREADS)
    assert [answer.status_code for answer in answers] == [303] * THREADS
    return {str(answer.location) for answer in answers}


def test_starts_at_once_give_one_page_that_is_stored(shop: Shop, clicks: Crowd) -> None:
    for number in range(ROUNDS):
        order_id = f"s-{number}"
        shop.totals[order_id] = Pay("12.50", "USD")
        sent_to = all_press_pay(shop, clicks, order_id)
        (attempt,) = shop.attempts(order_id)
        assert sent_to == {attempt.url}
        assert attempt.current_order_id == order_id
    assert len(shop.events("checkout_created")) == ROUNDS
    assert len(shop.service.created) == ROUNDS * THREADS


def test_starts_at_once_replace_a_page_once_and_keep_it_known(shop: Shop, clicks: Crowd) -> None:
    for number in range(ROUNDS):
        order_id = f"s-{number}"
        shop.totals[order_id] = Pay("12.50", "USD")
        old = shop.starts(order_id)
        shop.totals[order_id] = Pay("13.00", "USD")
        sent_to = all_press_pay(shop, clicks, order_id)
        shop.service.meanwhile = lambda: None
        first, second = shop.attempts(order_id)
        assert (first.checkout_id, first.current_order_id) == (old, None)
        assert (second.url, second.current_order_id, second.total) == (sent_to.pop(), order_id, Pay("13.00", "USD"))
        assert not sent_to
    assert len(shop.events("checkout_created")) == 2 * ROUNDS
