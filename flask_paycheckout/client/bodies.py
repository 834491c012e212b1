"""Keyword arguments as the service wants them: checked, in the wire's spelling, in a query or a JSON body.

The wire's names are the keyword arguments in camelCase. An argument that is None is left out. Complaints name the
argument, and for a batch the place in it, as in `items[3].amount`. Amounts are exact numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import cache, partial
from types import NoneType
from typing import Any, get_args, get_type_hints
from urllib.parse import quote, urlencode

import msgspec

from flask_paycheckout.client.envelope import JsonObject
from flask_paycheckout.client.hidden import Hidden, given_type
from flask_paycheckout.client.waiting import CallOptions
from flask_paycheckout.totals import decimals_of, exact_decimal

Amount = Decimal | int | str
"""Types that callers may give as money; never a float."""

# A signature and a key are texts too, and most calls write them: no code of ours runs for each character.
_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


_OPTIONS = get_type_hints(CallOptions)


class Fields:
    """Encodes the values of a `TypedDict` or dataclass by its annotations; a field with None may be left out.

    An optional amount may be zero. A dataclass's field that `repr` does not show stays hidden.
    """

    def __init__(self, declared: type[Any]) -> None:
        hints = get_type_hints(declared).items()
        self._kinds = {name: get_args(hint) or (hint,) for name, hint in hints if name not in _OPTIONS}
        self._required = {name for name, kinds in self._kinds.items() if NoneType not in kinds}
        self._secret = {field.name for field in fields(declared) if not field.repr} if is_dataclass(declared) else ()

    def query(self, filters: Mapping[str, Any], page: int | None = None) -> str:
        """The query string.

        :raises TypeError: there is no such filter, or its value has the wrong type.
        :raises ValueError: a count is not positive, an amount negative, a text not encodable.
        """
        values = self._written(filters, "", None)
        if page is not None:
            values["page"] = _count("page", page)
        return query_text(values)

    def body(self, arguments: object, place: str = "", currency: str | None = None) -> JsonObject:
        """The JSON object.

        :param arguments: the keyword arguments, or the dataclass.
        :param place: the prefix of each name in an error message.
        :param currency: the currency of the amounts.
        :raises TypeError: a field is missing or unknown, or its value has the wrong type.
        :raises ValueError: an amount is not positive or has too many decimals, a text is not encodable.
        """
        values = arguments if isinstance(arguments, dict) else {name: getattr(arguments, name) for name in self._kinds}
        wire = self._written(values, place, currency)
        return {name: as_number(value) if isinstance(value, Decimal) else value for name, value in wire.items()}

    def _written(self, values: Mapping[str, Any], place: str, currency: str | None) -> dict[str, Any]:
        for name in values:
            if name not in self._kinds:
                raise TypeError(f"there is no argument {name!r}; there are {', '.join(self._kinds)}")
        wire = {}
        for name, kinds in self._kinds.items():
            value = values.get(name)
            if value is not None or name in self._required:
                written = self._writer(name, kinds, currency)(place + name, value)
                wire[wire_name(name)] = Hidden(written) if name in self._secret else written
        return wire

    def _writer(self, name: str, kinds: tuple[Any, ...], currency: str | None) -> Callable[[str, Any], Any]:
        if Decimal in kinds:
            return partial(exact_amount, currency=currency, zero=name not in self._required)
        if bool in kinds:
            return flag
        if int in kinds:
            return _count
        nested = next(filter(is_dataclass, kinds), None)
        return text if nested is None else partial(_object, nested)


fields_of = cache(Fields)


def as_number(amount: Decimal) -> msgspec.Raw:
    """`amount` as a plain JSON number with all of its digits: Decimal('1E+2') is sent as 100."""
    return msgspec.Raw(f"{amount:f}".encode())


def exact_amount(name: str, amount: Amount, currency: str | None = None, *, zero: bool = False) -> Decimal:
    """The exact amount of the argument `name`.

    The decimals of ISO 4217 are enforced; only the service knows the decimals of other currencies.

    :param zero: whether zero is allowed.
    :raises TypeError: the amount is a float or another type.
    :raises ValueError: not a number, not finite, not positive, or more decimals than the currency has.
    """
    exact = exact_decimal(name, amount, currency, None if currency is None else _places(currency))
    if exact == 0 and not zero:
        raise ValueError(f"{name} {str(amount)[:40]} is not positive")
    return exact


def whole_amount(name: str, amount: Amount) -> Decimal:
    """The amount of the argument `name` for a field in which the service accepts only an integer; see `exact_amount`.

    :raises ValueError: also if the amount has a fraction.
    """
    exact = exact_amount(name, amount)
    if exact != exact.to_integral_value():
        raise ValueError(f"{name} must be a whole number, not {exact}: the service takes an integer here")
    return exact.to_integral_value()


def _places(currency: str) -> int | None:
    """The decimals of an ISO 4217 currency; None for every other code, which the service checks."""
    try:
        return decimals_of(currency)
    except ValueError:
        return None


def _object(kind: Any, name: str, value: object, currency: str | None = None) -> JsonObject:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
    return fields_of(kind).body(value, f"{name}.", currency)


def text(name: str, value: str) -> str:
    """Return `value` if it is a string that UTF-8 can encode.

    :raises TypeError: the value is no string.
    :raises ValueError: the value contains an unpaired surrogate.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {given_type(value)}")
    if _HALF_OF_A_PAIR.search(value):
        raise ValueError(f"{name} must be encodable as UTF-8")
    return value


def flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True, False or None, not {type(value).__name__}")
    return value


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return value


def texts(**values: str | None) -> JsonObject:
    """Strings under their wire names; values of None are left out."""
    return {wire_name(name): text(name, value) for name, value in values.items() if value is not None}


def batch(
    name: str, items: Iterable[Any], kind: type[Any], currency: str | None = None
) -> tuple[list[JsonObject], tuple[str, ...]]:
    """The JSON objects of a batch's items, at least one and all of one kind, and the items' references.

    :param currency: the currency of the amounts, unless an item has its own currency.
    :raises TypeError: an item is of another kind, or its field has the wrong type; the text names it.
    :raises ValueError: there are no items, or an item cannot be sent; the text names it.
    """
    if not isinstance(items, Iterable):
        raise TypeError(f"{name} must be several {kind.__name__}, not one {type(items).__name__}")
    records = tuple(items)
    if not records:
        raise ValueError(f"{name} is empty")
    bodies = [
        _object(kind, f"{name}[{index}]", item, getattr(item, "currency", currency))
        for index, item in enumerate(records)
    ]
    return bodies, tuple(item.reference for item in records if item.reference is not None)


def query_text(values: Mapping[str, object]) -> str:
    """A query string with its question mark, made of values of any kind except None; empty without values."""
    spelled = {name: _spelled(value) for name, value in values.items() if value is not None}
    return "?" + urlencode(spelled, safe="", quote_via=quote) if spelled else ""


def _spelled(value: object) -> str:
    """A value in the form of a query string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A member of an enumeration would be formatted by its name.
        return str.__str__(value)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


@cache
def wire_name(name: str) -> str:
    """The argument's name in camelCase."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
