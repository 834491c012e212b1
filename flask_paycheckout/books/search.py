"""The owner's search: orders and payouts by an id, title, payee or amount.

Ids are found by their indexes, however old the rows are. Titles, payees and amounts are searched in the newest rows
only, so that each search takes a limited time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any
from unicodedata import category

from sqlalchemy import ColumnElement, Engine, Select, Table, func, or_, select

from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.models import Models
from flask_paycheckout.text import is_order_id, order_of_request, request_of
from flask_paycheckout.totals import EXACT, decimals_of, exact_decimal

MOST_HITS = 25
"""The maximum number of orders, and of payouts, that a search finds."""

# The number of the newest rows of a table that are searched for texts and amounts.
_NEWEST = 20_000
# A number with an optional currency before or after it, and the separators in a number.
_AMOUNT = re.compile(r"([^\W\d_]*[^\w\s]?)\s*([0-9]+(?:[.,'\u2019\s][0-9]+)*)\s*(\D\S*)?")
_MARK = re.compile(r"[.,'\u2019\s]")
_GROUP = 3
# The maximum number of decimals to try for a stored amount; longer ones are found as they are typed.
_MOST_DECIMALS = 4


@dataclass(frozen=True)
class Hits:
    """The orders and payouts that a search found, the best first."""

    orders: Sequence[str]
    """Ids of orders; for a payment request, `request:` and its reference."""

    payouts: Sequence[str]
    """References of payouts."""


def search(engine: Engine, models: Models, text: str, find: Callable[[str, int], Sequence[str]]) -> Hits:
    """Find orders and payouts by id; if there are none, by the shop's function, titles, payees and amounts.

    :param find: returns the ids of orders that the shop finds; orders that nobody began to pay are left out.
    """
    # PostgreSQL refuses other texts, and they are never stored.
    if not is_order_id(text):
        return Hits((), ())
    queries = _Search(engine, models)
    by_id = Hits(queries.orders_by_id(text), queries.payouts_by_id(text))
    if by_id.orders or by_id.payouts:
        return by_id
    orders = dict.fromkeys([*queries.stored(find(text, MOST_HITS)), *queries.orders_like(text)])
    return Hits(list(orders)[:MOST_HITS], queries.payouts_like(text))


@dataclass(frozen=True)
class _Search:
    engine: Engine
    models: Models

    def orders_by_id(self, text: str) -> list[str]:
        requests = self.models.requests.c
        orders = self._named(self.models.checkouts, ("order_id", "checkout_id"), "order_id", text)
        requested = self._first(select(requests.reference).where(requests.reference == (request_of(text) or text)))
        return list(dict.fromkeys([*orders, *map(order_of_request, requested)]))

    def payouts_by_id(self, text: str) -> list[str]:
        names = ("reference", "service_reference", "disbursement_id")
        return self._named(self.models.payouts, names, "reference", text)

    def _named(self, table: Table, names: Sequence[str], result: str, text: str) -> list[str]:
        """The `result` column of the rows that have this text in one of the named columns, each found by its index."""
        c = table.c
        columns = (self._first(select(c[result]).where(c[name] == text).limit(MOST_HITS)) for name in names)
        return list(dict.fromkeys(chain.from_iterable(columns)))

    def stored(self, order_ids: Sequence[str]) -> list[str]:
        """The given orders that are stored, in the same sequence."""
        c = self.models.checkouts.c
        stored_ids = (
            set(self._first(select(c.order_id).where(c.order_id.in_(order_ids)).distinct())) if order_ids else set()
        )
        return [order_id for order_id in order_ids if order_id in stored_ids]

    def orders_like(self, text: str) -> list[str]:
        checkouts, requests = self.models.checkouts.c, self.models.requests.c
        amounts = _written(text)
        titled = _has(requests.title, text) | requests.total_amount.in_(amounts)
        requested = self._first(self._newest(self.models.requests, requests.reference, titled))
        paid = checkouts.total_amount.in_(amounts) | checkouts.payment_paid_amount.in_(amounts)
        orders = self._first(self._newest(self.models.checkouts, checkouts.order_id, paid)) if amounts else []
        return list(dict.fromkeys([*map(order_of_request, requested), *orders]))

    def payouts_like(self, text: str) -> list[str]:
        c = self.models.payouts.c
        # Search references of earlier tries as well, because bank statements show them.
        like = _has(c.destination, text) | c.earlier.contains(f'"{text}"', autoescape=True)
        return self._first(self._newest(self.models.payouts, c.reference, like | c.amount.in_(_written(text))))

    def _newest(self, table: Table, column: ColumnElement[Any], where: ColumnElement[bool]) -> Select[Any]:
        since = select(func.max(table.c.id) - _NEWEST).scalar_subquery()
        return select(column).where(table.c.id > since, where).order_by(table.c.id.desc()).limit(MOST_HITS)

    def _first(self, statement: Select[Any]) -> list[str]:
        return [value for (value,) in read_rows(self.engine, statement)]


def _has(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Whether a column contains a text, without regard to case."""
    # SQLite, and PostgreSQL in the locale C, know the case of ASCII letters only.
    forms = {text} if text.isascii() else {text.lower(), text.upper(), text.title()}
    return or_(*(column.icontains(form, autoescape=True) for form in sorted(forms)))


def _written(text: str) -> list[str]:
    """The texts as which a typed or copied amount may be stored; empty if the text is no amount."""
    match = _AMOUNT.fullmatch(text)
    if match is None or not all(map(_is_currency, filter(None, match.group(1, 3)))):
        return []
    *before, last = _MARK.split(match[2])
    if any(len(group) != _GROUP for group in before[1:]):
        return []
    readings = [f"{''.join(before)}.{last}" if before else last]
    if before and len(last) == _GROUP:
        # Three digits after the last separator may be thousands, or decimals.
        readings.append("".join((*before, last)))
    written = set[str]()
    for reading in readings:
        with suppress(ValueError):
            amount = exact_decimal("amount", reading, None, None)
            padded = (EXACT.quantize(amount, Decimal(1).scaleb(-places)) for places in range(_MOST_DECIMALS + 1))
            written |= {f"{each:f}" for each in (amount, *padded) if each == amount}
    return sorted(written)


def _is_currency(word: str) -> bool:
    """Whether a word beside a number is a code, a token, or a sign such as $ or US$."""
    with suppress(ValueError):
        decimals_of(word)
        return True
    return category(word[-1]) == "Sc"
