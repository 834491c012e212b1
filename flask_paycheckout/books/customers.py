"""The shop's own words about its orders: who has ordered, what, and where the shop's page of the order is.

The shop is asked when a page or a file needs them, for many orders at once. Nothing of its answer is stored, or stands
in a log or a `repr`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from traceback import extract_tb
from typing import Any

from flask import has_request_context, request

from flask_paycheckout.database.order_ids import is_order_id, request_of
from flask_paycheckout.shop_functions import name_of, personal
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

PATIENCE = 0.3
"""The seconds that a page waits for the shop's answer."""

# The questions of a process that wait for the shop at once. More threads would not help a shop that hangs.
_AT_ONCE = threading.BoundedSemaphore(8)
_ADDRESS = re.compile(r"(https?://|/(?!/))[^\s\x00-\x1f\\]*", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Line:
    """One line of what was ordered.

    :raises TypeError: the text is no text, or the amount is no text, `Decimal` or `int`.
    """

    text: str
    amount: Decimal | int | str | None = None
    """The price of all of it, in the order's currency."""

    quantity: Decimal | int | str = 1

    def __post_init__(self) -> None:
        _require_text("Line.text", self.text)
        for name, number in {"amount": self.amount, "quantity": self.quantity}.items():
            if isinstance(number, bool) or not isinstance(number, (Decimal, int, str, type(None))):
                raise TypeError(f"Line.{name} must be a Decimal, int or str, not {type(number).__name__}")


@dataclass(frozen=True, repr=False)
class Described:
    """The shop's description of one order; every part may be left out.

    :raises TypeError: a part is of another type.
    """

    customer: str | None = None
    """The customer's name."""

    email: str | None = None
    url: str | None = None
    """The shop's own page of the order, as http(s) address or path; the owner's pages link to no other address."""

    lines: Sequence[Line] = ()
    """What was ordered; customers see it on their receipt, too."""

    note: str | None = None
    """Anything else that whoever looks after the money should read."""

    def __post_init__(self) -> None:
        for name in ("customer", "email", "url", "note"):
            if getattr(self, name) is not None:
                _require_text(f"Described.{name}", getattr(self, name))
        lines: object = self.lines
        if not isinstance(lines, (list, tuple)) or not all(isinstance(line, Line) for line in lines):
            raise TypeError("Described.lines must be a list of Line(text, amount, quantity)")

    @property
    def link(self) -> str | None:
        """The address of the shop's own page, where it can be linked to."""
        return self.url if self.url is not None and _ADDRESS.fullmatch(self.url) else None


DescribeOrders = Callable[[Sequence[str]], Mapping[str, Described]]
FindOrders = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True, eq=False)
class Customers:
    """Asks the shop of one app about its orders."""

    wiring: Wiring

    def described(self, order_ids: Sequence[str], patience: float = PATIENCE) -> Mapping[str, Described]:
        """The shop's descriptions of orders that it knows, by id; none where it fails or is late.

        Whoever is at the page is recorded as having seen them.

        :param order_ids: asked at once; payment requests, which the shop does not know, are left out.
        """
        asked = [order_id for order_id in dict.fromkeys(order_ids) if request_of(order_id) is None]
        describe = self.wiring.callbacks.describe_orders
        if describe is None or not asked:
            return {}
        found = self._ask(describe, patience, asked)
        known = {} if found is None else {each: found[each] for each in asked if isinstance(found.get(each), Described)}
        return personal(known) if known else known

    def lines_of(self, order_id: str) -> Sequence[Line]:
        """What the customer of an order has ordered, for the receipt; empty where the shop does not say."""
        described = self.described([order_id]).get(order_id)
        return () if described is None else described.lines

    def find(self, text: str, limit: int) -> Sequence[str]:
        """The ids of the orders that the shop finds for a text, the best first; none where it fails or is late."""
        find = self.wiring.callbacks.find_orders
        found = None if find is None else self._ask(find, PATIENCE, text, limit)
        return [each for each in found or () if isinstance(each, str) and is_order_id(each)][:limit]

    def _ask(self, function: Callable[..., Any], patience: float, *arguments: Any) -> Any:
        """Call a function of the shop in a thread of its own, with a request of nobody, by which `url_for` works.

        :returns: its answer; None where it fails or is late.
        """
        if not _AT_ONCE.acquire(blocking=False):
            self._log_late(function)
            return None
        # At the address of this page, so that a path has the prefix under which the shop is served.
        base_url = request.root_url if has_request_context() else self.wiring.settings.public_url
        answers: list[Any] = []

        def call() -> None:
            try:
                with self.wiring.app.test_request_context(base_url=base_url):
                    answers.append(self.wiring.call_shop(function, *arguments))
            except Exception as error:
                self._log_error(function, error)
            finally:
                _AT_ONCE.release()

        thread = threading.Thread(target=call, name="paycheckout-describe", daemon=True)
        thread.start()
        thread.join(patience)
        if thread.is_alive():
            self._log_late(function)
        return answers[0] if answers else None

    def _log_late(self, function: Callable[..., Any]) -> None:
        line = "%s did not answer within %s s, so that the page was shown without its answer"
        self.wiring.log.warning("descriptions of orders", line, name_of(function), PATIENCE, extra=about())

    def _log_error(self, function: Callable[..., Any], error: Exception) -> None:
        """Log where a function failed, without its message: that may have words about a customer."""
        place = extract_tb(error.__traceback__)[-1]
        line = "%s raised %s in %s, line %s, so that the page was shown without its answer"
        facts = name_of(function), type(error).__name__, place.filename, place.lineno
        self.wiring.log.warning("descriptions of orders", line, *facts, extra=about(), error=error)


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
