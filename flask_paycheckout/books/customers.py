"""The shop's own words about its orders: who has ordered, what, and where the shop's page of the order is.

The shop is asked when a page or a file needs them, for many orders at once. Nothing of its answer is stored, or stands
in a log or a `repr`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from traceback import extract_tb
from typing import Any

from flask import has_request_context, request

from flask_paycheckout.checkouts.order_problems import OrderProblems, ProblemKind
from flask_paycheckout.shop_functions import name_of, personal
from flask_paycheckout.text import is_address, is_order_id, request_of
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

PATIENCE = 0.3
"""The seconds that a page waits for the shop's answer."""

# The seconds that reconcile waits for it.
_PATIENT = 5.0
# The most calls of the shop's functions at once in one process. More threads would not help when the shop hangs.
_AT_ONCE = threading.BoundedSemaphore(8)


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
        return self.url if self.url is not None and is_address(self.url) else None


class WrongAnswer(TypeError):
    """A function of the shop returned something else; the message tells only of its type."""


DescribeOrders = Callable[[Sequence[str]], Mapping[str, Described]]
FindOrders = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True, eq=False)
class Customers:
    """Asks the shop of one app about its orders."""

    wiring: Wiring
    problems: OrderProblems

    def described(self, order_ids: Sequence[str], patience: float = PATIENCE) -> Mapping[str, Described]:
        """The shop's descriptions of orders that it knows, by id; none where it fails or is late.

        Whoever is at the page is recorded as having seen them.

        :param order_ids: asked at once; payment requests, which the shop does not know, are left out.
        """
        if self.wiring.callbacks.describe_orders is None:
            return {}
        asked = [order_id for order_id in dict.fromkeys(order_ids) if request_of(order_id) is None]
        known = self._describe(asked, patience) if asked else None
        return personal(known) if known else {}

    def describes(self, order_id: str) -> bool:
        """Whether the shop can describe an order, of which it may know nothing."""
        return self._describe([order_id], _PATIENT) is not None

    def _describe(self, order_ids: Sequence[str], patience: float) -> Mapping[str, Described] | None:
        describe = self.wiring.callbacks.describe_orders
        if describe is None:
            return {}

        def ask() -> Mapping[str, Described]:
            return _known(order_ids, self.wiring.call_shop(describe, [*order_ids]))

        found: Mapping[str, Described] | None
        found = self._ask(ask, name_of(describe), patience, ProblemKind.DESCRIBE_ORDERS, order_ids[0])
        return found

    def lines_of(self, order_id: str) -> Sequence[Line]:
        """What the customer of an order has ordered, for the receipt; empty where the shop does not say."""
        described = self.described([order_id]).get(order_id)
        return () if described is None else described.lines

    def find(self, text: str, limit: int) -> Sequence[str]:
        """The ids of the orders that the shop finds for a text, the best first; none where it fails or is late."""
        find = self.wiring.callbacks.find_orders
        if find is None:
            return ()

        def ask() -> Sequence[str]:
            return _ids(self.wiring.call_shop(find, text, limit))

        found: Sequence[str] | None = self._ask(ask, name_of(find), PATIENCE, ProblemKind.FIND_ORDERS, "")
        if found is None:
            return ()
        self.problems.works(ProblemKind.FIND_ORDERS)
        return [each for each in found if is_order_id(each)][:limit]

    def _ask(self, ask: Callable[[], Any], name: str, patience: float, kind: ProblemKind, order_id: str) -> Any:
        """Call a function of the shop in a thread of its own, with a request of nobody, by which `url_for` works.

        :param name: the function's own.
        :param order_id: recorded as its problem when it raises.
        :returns: its answer; None where it fails or is late.
        """
        if not _AT_ONCE.acquire(blocking=False):
            self._log_late(name)
            return None
        # At the address of this page, so that a path has the prefix under which the shop is served.
        base_url = request.root_url if has_request_context() else self.wiring.settings.public_url
        answers, faults = list[Any](), list[str]()

        def call() -> None:
            try:
                with self.wiring.app.test_request_context(base_url=base_url):
                    answers.append(ask())
            except BaseException as error:
                # A time limit of gevent's is no Exception, and nothing but this thread would end by it.
                faults.append(self._logged(name, error))
            finally:
                _AT_ONCE.release()

        thread = threading.Thread(target=call, name="paycheckout-describe", daemon=True)
        thread.start()
        thread.join(patience)
        if thread.is_alive():
            self._log_late(name)
        elif faults:
            self.problems.record(kind, order_id, faults[0])
        return answers[0] if answers else None

    def _log_late(self, name: str) -> None:
        line = "%s did not answer within %s s, so that the page was shown without its answer"
        self.wiring.log.warning("descriptions of orders", line, name, PATIENCE, extra=about())

    def _logged(self, name: str, error: BaseException) -> str:
        """Log where a function failed, without its message, which may have words about a customer; the text of that."""
        place = extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {place.filename}, line {place.lineno}"
        fault = str(error) if isinstance(error, WrongAnswer) else where
        line = "%s failed, so that the page was shown without its answer: %s"
        self.wiring.log.warning("descriptions of orders", line, name, fault, extra=about(), error=error)
        return fault


def _known(order_ids: Sequence[str], answer: object) -> Mapping[str, Described]:
    """The shop's answer of `describe_orders`, which may be None."""
    if not isinstance(answer, (Mapping, type(None))):
        raise WrongAnswer(f"describe_orders must return a dict, not {type(answer).__name__}")
    for key in answer or ():
        if not isinstance(key, str):
            raise WrongAnswer(f"describe_orders must have ids of orders as strings, not {type(key).__name__}")
    known = {order_id: answer[order_id] for order_id in order_ids if order_id in answer} if answer else {}
    for each in known.values():
        if not isinstance(each, (Described, type(None))):
            raise WrongAnswer(f"describe_orders must give a Described for an order, not {type(each).__name__}")
    return {order_id: each for order_id, each in known.items() if each is not None}


def _ids(answer: object) -> Sequence[str]:
    """The shop's answer of `find_orders`, which may be None."""
    if isinstance(answer, (str, bytes)) or not isinstance(answer, (Iterable, type(None))):
        raise WrongAnswer(f"find_orders must return a list of order ids, not {type(answer).__name__}")
    found = list(answer or ())
    for each in found:
        if not isinstance(each, str):
            raise WrongAnswer(f"find_orders must return ids of orders as strings, not {type(each).__name__}")
    return found


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
