"""The order's status for its customer; tests of the pages are in views/test_order.py."""

from __future__ import annotations

from tests.scripted import Shop


def test_a_replaced_attempt_is_read_by_the_schedule_only(shop: Shop) -> None:
    first = shop.starts()
    shop.settles(first)
    shop.clock.advance(minutes=14, seconds=45)
    shop.settles(first)
    second = shop.starts()
    shop.service.reads.clear()
    with shop.app.app_context():
        shop.runtime.statuses.of("o-1")
    assert shop.service.reads == [second]
