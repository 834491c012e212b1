"""Many customers' clicks on one order's button: one page, and no URL that is not stored.

A process makes one checkout of an order at a time; here several shops on one database stand for several processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Barrier

import pytest

from flask_paycheckout import Pay
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.races.crowds import PATIENCE, Crowd, crowd
from tests.scripted import Shop
from tests.views.pages import presses_pay

pytestmark = pytest.mark.on_each_database

PROCESSES, THREADS, ROUNDS = 8, 32, 5


@pytest.fixture
def shops(open_shop: OpenShop, new_database: NewDatabase) -> list[Shop]:
    """Several processes of one shop, with the totals of the first one."""
    config = {
        "PAYCHECKOUT_WEB_CALLS": THREADS,
        "SQLALCHEMY_DATABASE_URI": with_patience(new_database("crowded"), 60),
    }
    opened = [open_shop(**config) for _ in range(PROCESSES)]
    for shop in opened:
        shop.paycheckout.order_total(opened[0].totals.get)
    return opened


@pytest.fixture
def clicks() -> Iterator[Crowd]:
    with crowd(THREADS) as threads:
        yield threads


def all_press_pay(shops: list[Shop], clicks: Crowd, order_id: str) -> set[str]:
    """Press Pay in all processes; none stores its checkout before each is creating one. Returns the payment pages."""
    everybody = Barrier(PROCESSES, timeout=PATIENCE)

    def meanwhile() -> None:
        everybody.wait()

    shops[0].service.meanwhile = meanwhile
    presses = [partial(presses_pay, shop, order_id) for shop in shops]
    answers = clicks.does(presses * (THREADS // PROCESSES))
    shops[0].service.meanwhile = lambda: None
    assert [answer.status_code for answer in answers] == [303] * THREADS
    return {str(answer.location) for answer in answers}


def test_starts_at_once_give_one_page_that_is_stored_and_replace_it_once(shops: list[Shop], clicks: Crowd) -> None:
    """A replaced page remains stored."""
    shop = shops[0]
    for number in range(ROUNDS):
        order_id = f"s-{number}"
        shop.costs("12.50", order_id)
        sent_to = all_press_pay(shops, clicks, order_id)
        (attempt,) = shop.attempts(order_id)
        assert (sent_to, attempt.current_order_id) == ({attempt.url}, order_id)
        shop.costs("13.00", order_id)
        sent_to = all_press_pay(shops, clicks, order_id)
        first, second = shop.attempts(order_id)
        assert (first.checkout_id, first.current_order_id) == (attempt.checkout_id, None)
        assert (sent_to, second.current_order_id, second.total) == ({second.url}, order_id, Pay("13.00", "USD"))
    assert len(shop.events("checkout_created")) == 2 * ROUNDS
    assert len(shop.service.created) == 2 * ROUNDS * PROCESSES
