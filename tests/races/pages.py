"""An order with open pages, whose payments race."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from tests.scripted import Shop

Acts = dict[str, Callable[[], object]]


class Pages:
    """Makes orders of 12.50 USD with open pages, one after the other."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self.ids = shop, list[str]()
        self._numbers, self.order_id = count(1), ""

    def open_two(self, status: str) -> list[str]:
        """Open two pages, and set the service's status for both deposits."""
        shop = self.shop
        self.order_id = f"two-{next(self._numbers)}"
        shop.costs("12.50", self.order_id)
        first = shop.starts(self.order_id)
        shop.waits(minutes=15)
        self.ids = [first, shop.starts(self.order_id)]
        for checkout_id in self.ids:
            shop.service.says(checkout_id, status)
        return self.ids

    def open_parts(self, *sums: str) -> list[str]:
        """Open pages for which these sums have arrived without being read."""
        self.order_id = f"parts-{next(self._numbers)}"
        self.ids = []
        for amount in sums:
            # A different amount each time, so that each page is a new one.
            self.shop.costs("12.50", self.order_id, now=amount)
            self.ids.append(self.shop.has_arrived(amount, self.order_id))
        return self.ids

    def settled_at_once(self) -> Acts:
        """Acts that settle each page."""
        return {page: partial(self.shop.settles, page) for page in self.ids}

    def attempts(self) -> list[Any]:
        return self.shop.attempts(self.order_id)

    def states(self) -> list[str]:
        return [self.shop.attempt(page).status for page in self.ids]

    def told(self) -> list[str]:
        names = [event.name for event in self.shop.events() if event.order_id == self.order_id]
        return sorted(name for name in names if name != "checkout_created")

    def winner(self) -> int:
        """The index of the page that paid the order."""
        (paid,) = [attempt.checkout_id for attempt in self.attempts() if attempt.paid_order_id]
        return self.ids.index(paid)

    def one_is_paid_and_one_held(self) -> None:
        """Check that one page is paid and one held, and that the order's explanation names both."""
        results = sorted((attempt.status, attempt.reason, attempt.paid_order_id) for attempt in self.attempts())
        assert results == [("held", "duplicate", None), ("paid", None, self.order_id)]
        assert self.told() == ["order_paid", "payment_held"]
        story = str(self.shop.calls.explain(self.order_id))
        assert "another payment already paid this order" in story
