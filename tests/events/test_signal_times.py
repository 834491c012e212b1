"""The time of each signal, with reconcile alone and with a webhook: docs/concepts.md's table, to the second."""

from __future__ import annotations

from datetime import timedelta

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


def test_a_page_on_which_nothing_is_picked_is_given_up_after_16_minutes(shop: Shop, signals: Signals) -> None:
    shop.starts()
    assert waits_for(shop, signals, "order_abandoned") == timedelta(minutes=16, seconds=1)


def test_a_payment_without_news_is_given_up_after_a_day(shop: Shop, signals: Signals) -> None:
    shop.has_deposit("pending")
    shop.reconciles()
    assert waits_for(shop, signals, "order_abandoned", timedelta(minutes=10)) == timedelta(hours=24)
