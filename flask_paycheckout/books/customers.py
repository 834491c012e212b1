"""The shop's descriptions of its orders: the customer, the ordered items, and the shop's page of the order.

The shop is asked when a page or a file needs them, for many orders at once. Its answer is neither stored nor logged,
and no `repr` shows it.
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
from flask_paycheckout.wiring.installation import request_base
from flask_paycheckout.wiring.logs import about

PATIENCE = 0.3
"""The seconds that a page waits for the shop's answer."""

# The seconds that reconcile waits for the answer.
_PATIENT = 5.0
# The maximum number of concurrent calls of the shop's functions in one process. More threads would not help when the
# shop hangs.
_AT_ONCE = threading.BoundedSemaphore(8)


@dataclass(frozen=True, repr=False)
class Line:
    """One line of an order: an item with its price.

    :raises TypeError: the text is not a string, or the amount is not a string, `Decimal` or `int`.
    """

    text: str
    amount: Decimal | int | str | None = None
    """The price of the whole line, in the order's currency."""

    quantity: Decimal | int | str = 1

    def __post_init__(self) -> None:
        _require("Line.text must be a string", self.text, str)
        for name, number in {"amount": self.amount, "quantity": self.quantity}.items():
            _require(f"Line.{name} must be a Decimal, int or str", number, Decimal, int, str, NoneType)


@dataclass(frozen=True, repr=False)
class Described:
    """The shop's description of one order; every field may be left out.

    :raises TypeError: a field has another type.
    """

    customer: str | None = None
    """The customer's name."""

    email: str | None = None
    url: str | None = None
    """The shop's own page of the order, as an http(s) address or a path; the owner's pages link to no other address."""

    lines: Sequence[Line] = ()
    """The ordered items; customers see them on their receipt, too."""

    note: str | None = None
    """Further text for the people who handle the money."""

    def __post_init__(self) -> None:
        for name in ("customer", "email", "url", "note"):
            _require(f"Described.{name} must be a string", getattr(self, name), str, NoneType)
        _require("Described.lines must be a list", self.lines, list, tuple)
        for line in self.lines:
            _require("Described.lines must have a Line(text, amount, quantity) for each", line, Line)

    @property
    def link(self) -> str | None:
        """The address of the shop's own page, if it can be linked to."""
        return self.url if self.url is not None and is_address(self.url) else None


class WrongAnswer(TypeError):
    """The shop's answer has another type; the message names only the type."""


@dataclass(frozen=True, eq=False)
class Customers:
    """Asks the shop of one app about its orders."""

    wiring: Wiring
    problems: OrderProblems

    def described(self, order_ids: Sequence[str], patience: float = PATIENCE) -> Mapping[str, Described]:
        """The shop's descriptions of orders that it knows, by id; empty if it fails or is late.

        The person at the page is recorded as their viewer.

        :param order_ids: the orders, in one call; payment requests are left out, because the shop does not know them.
        """
        if self.wiring.callbacks.describe_orders is None:
            return {}
        own_ids = [order_id for order_id in dict.fromkeys(order_ids) if request_of(order_id) is None]
        descriptions = self._describe(own_ids, patience) if own_ids else None
        return personal(descriptions) if descriptions else {}

    def describes(self, order_id: str) -> bool:
        """Whether the shop can describe an order, of which it may know nothing."""
        return self._describe([order_id], _PATIENT) is not None

    def _describe(self, order_ids: Sequence[str], patience: float) -> Mapping[str, Described] | None:
        describe = self.wiring.callbacks.describe_orders
        if describe is None:
            return {}
        descriptions: Mapping[str, Described] | None
        checked = partial(_checked_descriptions, order_ids)
        descriptions = self._ask(ProblemKind.DESCRIBE_ORDERS, order_ids[0], patience, checked, describe, [*order_ids])
        return descriptions

    def lines_of(self, order_id: str) -> Sequence[Line]:
        """The ordered items of an order, for the receipt; empty if the shop does not give them."""
        described = self.described([order_id]).get(order_id)
        return () if described is None else described.lines

    def find(self, text: str, limit: int) -> Sequence[str]:
        """The ids of the orders that the shop finds for a text, the best first; empty if it fails or is late."""
        find = self.wiring.callbacks.find_orders
        if find is None:
            return ()
        order_ids: Sequence[str] | None = self._ask(
            ProblemKind.FIND_ORDERS, "", PATIENCE, _checked_ids, find, text, limit
        )
        if order_ids is None:
            return ()
        self.problems.works(ProblemKind.FIND_ORDERS)
        return [each for each in order_ids if is_order_id(each)][:limit]

    def _ask(
        self,
        kind: ProblemKind,
        order_id: str,
        patience: float,
        checked: Callable[[Any], Any],
        function: Callable[..., Any],
        *arguments: object,
    ) -> Any:
        """Call a function of the shop in a thread of its own, with an anonymous request, so that `url_for` works.

        :param kind: the problem to record for the order when the function raises.
        :param checked: returns the checked answer, or raises `WrongAnswer`.
        :returns: the checked answer; None if the function fails or is late.
        """
        name = name_of(function)
        if not _AT_ONCE.acquire(blocking=False):
            self._log_late(name)
            return None
        # Use the address of this page, so that a path has the prefix under which the shop is served.
        own_base = request_base(self.wiring.settings, self.wiring.app.config)
        base_url = request.root_url if has_request_context() else own_base
        answers, faults = list[Any](), list[str]()

        def call() -> None:
            try:
                with self.wiring.app.test_request_context(base_url=base_url):
                    answers.append(checked(self.wiring.call_shop(function, *arguments)))
            except BaseException as error:
                # A timeout of gevent is no Exception, and would end nothing but this thread.
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
        """Log where a function failed, without its message, which may name a customer; return the logged text."""
        place = extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {place.filename}, line {place.lineno}"
        fault = str(error) if isinstance(error, WrongAnswer) else where
        line = "%s failed, so that the page was shown without its answer: %s"
        self.wiring.log.warning("descriptions of orders", line, name, fault, extra=about(), error=error)
        return fault


def _checked_descriptions(order_ids: Sequence[str], answer: Any) -> Mapping[str, Described]:
    """Check the shop's answer to `describe_orders`, which may be None."""
    _require("describe_orders must return a dict", answer, Mapping, NoneType)
    for key, each in (answer or {}).items():
        _require("describe_orders must have ids of orders as strings", key, str)
        _require("describe_orders must give a Described for an order", each, Described, NoneType)
    return {order_id: answer[order_id] for order_id in order_ids if answer and answer.get(order_id) is not None}


def _checked_ids(answer: Any) -> Sequence[str]:
    """Check the shop's answer to `find_orders`, which may be None."""
    _require("find_orders must return a list of order ids", answer, Iterable, NoneType, but=(str, bytes))
    order_ids = list(answer or ())
    for each in order_ids:
        _require("find_orders must return ids of orders as strings", each, str)
    return order_ids


def _require(message: str, value: object, *kinds: type, but: type | tuple[type, ...] = bool) -> None:
    """Require that a value from the shop has one of these types.

    :param message: the beginning of the error message.
    :param but: subtypes that are refused.
    """
    if isinstance(value, but) or not isinstance(value, kinds):
        raise WrongAnswer(f"{message}, not {type(value).__name__}")
