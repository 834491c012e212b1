"""An order with two open pages, whose payments race."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from flask_paycheckout import Pay
from flask_paycheckout.text import account_text
from tests.scripted import Shop

Acts = dict[str, Callable[[], object]]


class TwoPages:
    """An order whose two pages are open, again and again, each time a new one."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self._numbers = count(1)
        self.order_id = self.first = self.second = ""

    def open_anew(self, status: str) -> None:
        """What the service says of both deposits by now."""
        shop = self.shop
        self.order_id = f"two-{next(self._numbers)}"
        shop.totals[self.order_id] = Pay("12.50", "USD")
        self.first = shop.starts(self.order_id)
        shop.clock.advance(minutes=15)
        self.second = shop.starts(self.order_id)
        for checkout_id in (self.first, self.second):
            shop.service.says(checkout_id, status)

    def attempts(self) -> list[Any]:
        return self.shop.attempts(self.order_id)

    def winner(self) -> str:
        (paid,) = [attempt.checkout_id for attempt in self.attempts() if attempt.paid_order_id]
        return "first" if paid == self.first else "second"

    def told(self) -> list[str]:
        names = [event.name for event in self.shop.events() if event.order_id == self.order_id]
        return sorted(name for name in names if name != "checkout_created")

    def settled_at_once(self) -> Acts:
        """Both are paid, and settled by a thread each."""
        self.open_anew("completed")
        first, second = self.first, self.second
        return {"first": lambda: self.shop.settles(first), "second": lambda: self.shop.settles(second)}

    def one_is_paid_and_one_held(self) -> None:
        """As it must be in the end; and the order's story names both."""
        found = sorted((attempt.status, attempt.reason, attempt.paid_order_id) for attempt in self.attempts())
        assert found == [("held", "duplicate", None), ("paid", None, self.order_id)]
        assert self.told() == ["order_paid", "payment_held"]
        with self.shop.app.app_context():
            story = str(self.shop.paycheckout.explain(self.order_id))
        account = account_text(self.shop.account_of(self.order_id))
        assert f"checkout {self.first}{account}, 12.50 USD: " in story
        assert f"checkout {self.second}{account}, 12.50 USD: " in story
        assert "another payment already paid this order" in story
