"""Two pages of one order, both paid at the same moment: in every order of the statements, one pays and one is held."""

from __future__ import annotations

import pytest

from flask_paycheckout import OrderSettled
from tests.races.interleaving import every_interleaving
from tests.races.pages import Acts, Pages
from tests.scripted import Shop, number

pytestmark = pytest.mark.on_each_database


@pytest.fixture
def pages(shop: Shop) -> Pages:
    return Pages(shop)


def test_settled_at_once(shop: Shop, pages: Pages) -> None:
    winners = set()

    def begin() -> Acts:
        pages.open_two("completed")
        return pages.settled_at_once()

    def check() -> None:
        pages.one_is_paid_and_one_held()
        winners.add(pages.winner())

    assert every_interleaving(shop.engine, begin, check, preemptions=None) > 5
    assert winners == {0, 1}, "both orders of arrival were among them"


def test_a_payment_that_is_accepted_while_another_arrives_pays_no_order_twice(shop: Shop, pages: Pages) -> None:
    """A person may accept both; the order is paid once, with one event."""

    def begin() -> Acts:
        first, second = pages.open_two("completed")
        shop.service.says(first, "completed", inputAmount=number("1"))
        shop.settles(first)
        return {"accepts": lambda: shop.resolves(first, True), "settles": lambda: shop.settles(second)}

    def check() -> None:
        first, second = shop.attempts(pages.order_id)
        assert (first.status, second.status) in {("paid", "paid"), ("paid", "held")}
        assert [first.paid_order_id, second.paid_order_id].count(pages.order_id) == 1
        assert pages.told().count("order_paid") == 1

    assert every_interleaving(shop.engine, begin, check) > 5


def test_the_last_two_hopes_that_end_at_once_are_told_of_once(shop: Shop, pages: Pages) -> None:
    """Neither may count the other as still payable, or the order's abandonment is never announced."""

    def begin() -> Acts:
        for checkout_id in pages.open_two("pending"):
            assert shop.settles(checkout_id).status == "pending"
            shop.service.says(checkout_id, "failed")
        return pages.settled_at_once()

    def check() -> None:
        assert pages.states() == ["abandoned"] * 2
        assert pages.told() == ["order_abandoned", "order_pending", "order_pending"]

    assert every_interleaving(shop.engine, begin, check) > 5


def test_a_page_that_is_made_while_an_older_one_is_paid_never_stops_the_payment(shop: Shop, pages: Pages) -> None:
    refused = []

    def starts() -> None:
        try:
            assert shop.starts(pages.order_id) == pages.attempts()[-1].checkout_id
        except OrderSettled:
            refused.append(pages.order_id)

    def begin() -> Acts:
        first, second = pages.open_two("completed")
        shop.waits(minutes=15)
        # Just read, so that the start reads nothing.
        del shop.service.deposits[second]
        shop.settles(second)
        return {"starts": starts, "settles": lambda: shop.settles(first)}

    def check() -> None:
        first, second, *third = pages.attempts()
        assert (first.status, second.status) == ("paid", "created")
        assert len(third) == (pages.order_id not in refused)
        assert pages.told() == ["order_paid"]

    assert every_interleaving(shop.engine, begin, check) > 5
    assert refused
