"""Receivers that fail for a while or for ever, or are slow: all others run once, and the recovered ones in the end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from tests.events.test_outbox import receivers
from tests.races.crowds import PATIENCE, crowd
from tests.races.effects import Writer, counts, writes
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database


def paid_event(shop: Shop, order_id: str = "o-1") -> Any:
    (event,) = [event for event in shop.events("order_paid") if event.order_id == order_id]
    return event


def test_failing_receivers_keep_nobody_waiting(shop: Shop) -> None:
    """Four reconcilers deliver at the same time; a second order is paid while the first order's receivers fail."""
    five_times, for_ever = Writer(shop, "five times", 5), Writer(shop, "for ever", 10**6)
    others = [Writer(shop, "first"), Writer(shop, "last")]

    def drive(rounds: int) -> None:
        for _ in range(rounds):
            shop.clock.now = max(shop.clock.now, paid_event(shop).next_attempt_at)
            reconcilers.does([shop.reconciles] * 4)

    with receivers(shop, others[0], five_times, for_ever, others[1]), crowd(4) as reconcilers:
        shop.has_paid("o-1")
        assert counts(shop, "o-1") == {"first": 1, "last": 1}
        drive(3)
        shop.has_paid("o-2")
        assert counts(shop, "o-2") == {"first": 1, "last": 1}, "a new order waits for nobody's failures"
        drive(6)

        for order_id in ("o-1", "o-2"):
            assert counts(shop, order_id) == {"first": 1, "last": 1, "five times": 1}
            assert five_times.runs[paid_event(shop, order_id).event_id] == 6
            assert paid_event(shop, order_id).delivered_at is None
        assert for_ever.runs[paid_event(shop).event_id] == 10


def test_a_slow_receiver_keeps_no_other_order_waiting(shop: Shop) -> None:
    is_reached, goes_on = Event(), Event()

    def slow(app: object, *, order_id: str, **facts: object) -> None:
        if order_id == "o-1":
            is_reached.set()
            assert goes_on.wait(PATIENCE)
        writes(shop, "slow", order_id)

    first, _ = (shop.has_deposit("completed", order_id) for order_id in ("o-1", "o-2"))
    with receivers(shop, Writer(shop, "before"), slow, Writer(shop, "after")):
        with ThreadPoolExecutor(1) as aside:
            doing = aside.submit(shop.settles, first)
            try:
                assert is_reached.wait(PATIENCE)
                assert shop.reconciles().delivered == 1
                assert counts(shop, "o-2") == {"before": 1, "slow": 1, "after": 1}
                assert counts(shop, "o-1") == {"before": 1}
            finally:
                goes_on.set()
            assert doing.result(PATIENCE).status == "paid"
        assert shop.reconciles().delivered == 0
    assert counts(shop, "o-1") == {"before": 1, "slow": 1, "after": 1}
