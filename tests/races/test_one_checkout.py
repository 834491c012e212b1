"""Thirty-two threads use webhook, status page, reconcile and settle on one checkout: one payment, one event."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from flask_paycheckout import order_paid
from tests.races.crowds import crowd
from tests.races.effects import Writer, counts
from tests.scripted import Shop
from tests.views.pages import opens

pytestmark = pytest.mark.on_each_database

THREADS, ROUNDS = 32, 100


@pytest.fixture
def shop(shop: Shop) -> Iterator[Shop]:
    with order_paid.connected_to(Writer(shop, "ship"), sender=shop.app):
        yield shop


def hears_of(shop: Shop, checkout_id: str) -> int:
    """The answer to a webhook, which its sender repeats where a busy machine lets it wait too long for a lock."""
    answers = (shop.hears_of(checkout_id) for _ in range(10))
    return next((status for status in answers if status != 503), 503)


def ways_to_the_news(shop: Shop, order_id: str, checkout_id: str) -> list[Callable[[], object]]:
    """The four ways in which a payment is found; each returns the status that its caller sees."""
    return [
        lambda: hears_of(shop, checkout_id),
        lambda: opens(shop, order_id, "/status").status_code,
        lambda: shop.reconciles().failed,
        lambda: shop.settles(checkout_id).status,
    ]


def test_a_payment_that_many_find_at_once_is_told_once(shop: Shop) -> None:
    with crowd(THREADS) as threads:
        for number in range(ROUNDS):
            order_id = f"r-{number}"
            shop.costs("12.50", order_id)
            checkout_id = shop.starts(order_id)
            shop.service.says(checkout_id, "completed")
            shop.waits(seconds=1)

            seen = threads.does(ways_to_the_news(shop, order_id, checkout_id) * (THREADS // 4))

            assert seen == [200, 200, 0, "paid"] * (THREADS // 4), order_id
            assert counts(shop, order_id) == {"ship": 1}, order_id
    events = shop.events("order_paid")
    assert [event.order_id for event in events] == [f"r-{number}" for number in range(ROUNDS)]
    assert all(event.delivered_at and event.attempts == 1 for event in events)
    assert {attempt.status for order_id in shop.totals for attempt in shop.attempts(order_id)} == {"paid"}
