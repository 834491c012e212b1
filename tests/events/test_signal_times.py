"""The time of each signal, with reconcile alone and with a webhook: docs/concepts.md's table, to the second."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flask_paycheckout.testing import Signals
from tests.scripted import Shop

TICK = timedelta(seconds=1)


def waits_for(shop: Shop, signals: Signals, name: str, step: timedelta = TICK) -> timedelta:
    """How long reconcile, run at each step, takes until this signal is sent."""
    begun = shop.clock.now
    while name not in signals.names:
        assert shop.clock.now - begun < timedelta(days=2)
        shop.clock.now += step
        shop.reconciles()
    return shop.clock.now - begun


@pytest.mark.parametrize(
    ("minutes", "within"), [(0, timedelta(seconds=10)), (2, timedelta(minutes=1)), (10, timedelta(minutes=5))]
)
def test_a_pick_is_found_within_half_the_age_of_the_page(
    shop: Shop, signals: Signals, minutes: int, within: timedelta
) -> None:
    checkout_id = shop.starts()
    shop.reconciles()
    for _ in range(minutes * 60):
        shop.clock.now += TICK
        shop.reconciles()
    shop.service.says(checkout_id, "pending")
    assert waits_for(shop, signals, "order_pending") <= within


def test_a_page_on_which_nothing_is_picked_is_given_up_after_16_minutes(shop: Shop, signals: Signals) -> None:
    shop.starts()
    assert waits_for(shop, signals, "order_abandoned") == timedelta(minutes=16, seconds=1)


def test_a_payment_without_news_is_given_up_after_a_day(shop: Shop, signals: Signals) -> None:
    shop.has_deposit("pending")
    shop.reconciles()
    assert waits_for(shop, signals, "order_abandoned", timedelta(minutes=10)) == timedelta(hours=24)


@pytest.mark.parametrize(("status", "signal"), [("completed", "order_paid"), ("failed", "order_abandoned")])
def test_the_end_of_a_payment_is_found_within_five_minutes_without_a_webhook(
    shop: Shop, signals: Signals, status: str, signal: str
) -> None:
    checkout_id = shop.has_deposit("pending")
    shop.reconciles()
    for _ in range(8 * 12):
        shop.clock.now += timedelta(minutes=5)
        shop.reconciles()
    shop.service.says(checkout_id, status)
    assert waits_for(shop, signals, signal) <= timedelta(minutes=5)
