"""The order's status for its customer; tests of the pages are in views/test_order.py."""

from __future__ import annotations

from tests.scripted import Shop


def test_a_replaced_attempt_is_read_by_the_schedule_only(shop: Shop) -> None:
    first = shop.starts()
    shop.settles(first)
    shop.waits(minutes=14, seconds=45)
    shop.settles(first)
    second = shop.starts()
    shop.service.reads.clear()
    with shop.app.app_context():
        shop.runtime.statuses.of("o-1")
    assert shop.service.reads == [second]


def test_a_visit_reads_again_once_the_clock_was_set_back(shop: Shop) -> None:
    """The time of the last read is in the future then."""
    shop.settles(shop.has_deposit("pending"), says="pending")
    shop.waits(minutes=-20)
    shop.service.says("chk-1", "completed")
    with shop.app.app_context():
        assert shop.runtime.statuses.of("o-1").status == "paid"
