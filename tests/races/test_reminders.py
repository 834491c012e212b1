"""A reminder that two hosts store at once, and one that races with the payment, in each order of statements."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from flask_paycheckout import payment_reminder
from tests.conftest import OpenShop
from tests.races.interleaving import every_interleaving
from tests.races.pages import Acts
from tests.scripted import Shop


class Late:
    """Makes orders with a due reminder whose page was just read."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self._numbers, self.order_id = shop, count(1), ""
        payment_reminder.connect(self._hear, sender=shop.app, weak=False)

    def _hear(self, app: object, **event: Any) -> None:
        """A receiver without effect: events with a receiver are stored until they are delivered."""

    def begins(self) -> str:
        self.order_id = f"late-{next(self._numbers)}"
        self.shop.costs("12.50", self.order_id)
        checkout_id = self.shop.starts(self.order_id)
        self.shop.waits(hours=1)
        self.shop.settles(checkout_id)
        return checkout_id

    def reminds(self) -> None:
        list(self.shop.runtime.reconciler.reminders.store())

    def told(self) -> dict[str, bool]:
        """The order's events, each stored once, with whether each was delivered."""
        events = [event for event in self.shop.events() if event.order_id == self.order_id]
        assert len({event.name for event in events}) == len(events)
        return {event.name: event.delivered_at is not None for event in events}


@pytest.fixture
def late(open_shop: OpenShop) -> Late:
    return Late(open_shop(PAYCHECKOUT_REMIND_AFTER=[3600]))


@pytest.mark.on_each_database
def test_two_hosts_store_one_reminder(late: Late) -> None:
    def begin() -> Acts:
        late.begins()
        return {"one": late.reminds, "other": late.reminds}

    def check() -> None:
        assert "payment_reminder" in late.told()

    assert every_interleaving(late.shop.engine, begin, check) > 5


def test_no_reminder_is_delivered_after_the_payment(late: Late) -> None:
    stored = set()

    def begin() -> Acts:
        checkout_id = late.begins()
        late.shop.service.says(checkout_id, "completed")
        return {"reminds": late.reminds, "settles": lambda: late.shop.settles(checkout_id)}

    def check() -> None:
        late.shop.reconciles(minutes=5)
        events = late.told()
        assert events["order_paid"] is True
        assert events.get("payment_reminder", False) is False
        stored.add("payment_reminder" in events)

    assert every_interleaving(late.shop.engine, begin, check) > 5
    assert stored == {True, False}
