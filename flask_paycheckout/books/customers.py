"""The shop's own words about its orders: who has ordered, what, and where the shop's page of the order is.

The shop is asked when a page or a file needs them, for many orders at once. Nothing of its answer is stored, or stands
in a log or a `repr`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from traceback import extract_tb
from types import NoneType
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
        _require("Line.text must be a string", self.text, str)
        for name, number in {"amount": self.amount, "quantity": self.quantity}.items():
            _require(f"Line.{name} must be a Decimal, int or str", number, Decimal, int, str, NoneType)


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
            _require(f"Described.{name} must be a string", getattr(self, name), str, NoneType)
        _require("Described.lines must be a list", self.lines, list, tuple)
        for line in self.lines:
            _require("Described.lines must have a Line(text, amount, quantity) for each", line, Line)

    @property
    def link(self) -> str | None:
        """The address of the shop's own page, where it can be linked to."""
        return self.url if self.url is not None and is_address(self.url) else None


class WrongAnswer(TypeError):
    """The shop gave something else; the message tells only of its type."""


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
        found: Mapping[str, Described] | None
        known = partial(_known, order_ids)
        found = self._ask(ProblemKind.DESCRIBE_ORDERS, order_ids[0], patience, known, describe, [*order_ids])
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
        found: Sequence[str] | None = self._ask(ProblemKind.FIND_ORDERS, "", PATIENCE, _ids, find, text, limit)
        if found is None:
            return ()
        self.problems.works(ProblemKind.FIND_ORDERS)
        return [each for each in found if is_order_id(each)][:limit]

    def _ask(
        self,
        kind: ProblemKind,
        order_id: str,
        patience: float,
        checked: Callable[[Any], Any],
        function: Callable[..., Any],
        *arguments: object,
    ) -> Any:
        """Call a function of the shop in a thread of its own, with a request of nobody, by which `url_for` works.

        :param kind: recorded as the order's problem when it raises.
        :param checked: returns the answer as it is used, or raises `WrongAnswer`.
        :returns: the checked answer; None where it fails or is late.
        """
        name = name_of(function)
        if not _AT_ONCE.acquire(blocking=False):
            self._log_late(name)
            return None
        # At the address of this page, so that a path has the prefix under which the shop is served.
        base_url = request.root_url if has_request_context() else self.wiring.settings.public_url
        answers, faults = list[Any](), list[str]()

        def call() -> None:
            try:
                with self.wiring.app.test_request_context(base_url=base_url):
                    answers.append(checked(self.wiring.call_shop(function, *arguments)))
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


def _known(order_ids: Sequence[str], answer: Any) -> Mapping[str, Described]:
    """The shop's answer of `describe_orders`, which may be None."""
    _require("describe_orders must return a dict", answer, Mapping, NoneType)
    for key, each in (answer or {}).items():
        _require("describe_orders must have ids of orders as strings", key, str)
        _require("describe_orders must give a Described for an order", each, Described, NoneType)
    return {order_id: answer[order_id] for order_id in order_ids if answer and answer.get(order_id) is not None}


def _ids(answer: Any) -> Sequence[str]:
    """The shop's answer of `find_orders`, which may be None."""
    _require("find_orders must return a list of order ids", answer, Iterable, NoneType, but=(str, bytes))
    found = list(answer or ())
    for each in found:
        _require("find_orders must return ids of orders as strings", each, str)
    return found


def _require(told: str, value: object, *kinds: type, but: type | tuple[type, ...] = bool) -> None:
    """Require that a value of the shop's is of one of these types.

    :param told: the beginning of the error, which says so.
    :param but: the types among them that are refused.
    """
    if isinstance(value, but) or not isinstance(value, kinds):
        raise WrongAnswer(f"{told}, not {type(value).__name__}")
