"""Keyword arguments as the service wants them: checked, in the wire's spelling, in a query or a JSON body.

The wire's names are the keyword arguments in camelCase. An argument that is None is left out. Complaints name the
argument, and for a batch the place in it, as in `items[3].amount`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlencode

from flask_paycheckout.client.amounts import exact_amount
from flask_paycheckout.client.hidden import Hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flask_paycheckout.client.amounts import Amount
    from flask_paycheckout.client.envelope import JsonObject

__all__ = ["batch", "needed", "query_of", "secret", "text", "texts"]

T = TypeVar("T")


def text(name: str, value: str) -> str:
    """`value` when it is a string that UTF-8 can carry.

    :raises TypeError: it is no string.
    :raises ValueError: it holds half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError(f"{name} must be encodable as UTF-8")
    return value


def secret(name: str, value: str) -> Hidden:
    """The same for a value that must not be shown."""
    return Hidden(text(name, value))


def needed(place: str = "", **values: str) -> JsonObject:
    """Strings that must be given, under their wire names; `place` goes before each name in a complaint."""
    return {_camel(name): text(place + name, value) for name, value in values.items()}


def texts(place: str = "", **values: str | None) -> JsonObject:
    """The same for strings that may be None, which leaves them out."""
    return {_camel(name): text(place + name, value) for name, value in values.items() if value is not None}


def batch(name: str, items: Iterable[T], kind: type[T]) -> tuple[T, ...]:
    """The items of a batch: at least one, all of one kind.

    :raises TypeError: an item is of another kind.
    :raises ValueError: there are none.
    """
    if isinstance(items, (str, bytes, dict, kind)):
        raise TypeError(f"{name} must be a list of {kind.__name__}, not {type(items).__name__}")
    taken = tuple(items)
    if not taken:
        raise ValueError(f"{name} is empty")
    for index, item in enumerate(taken):
        if not isinstance(item, kind):
            raise TypeError(f"{name}[{index}] must be a {kind.__name__}, not {type(item).__name__}")
    return taken


def query_of(
    *,
    counts: Mapping[str, int | None] | None = None,
    words: Mapping[str, str | None] | None = None,
    flags: Mapping[str, bool | None] | None = None,
    amounts: Mapping[str, Amount | None] | None = None,
) -> str:
    """A query string with its question mark, or nothing when no value is given.

    :raises TypeError: a value has the wrong type.
    :raises ValueError: a count is not positive, an amount neither zero nor positive, a word not encodable.
    """
    parts = {name: str(_count(name, value)) for name, value in (counts or {}).items() if value is not None}
    parts |= {name: text(name, value) for name, value in (words or {}).items() if value is not None}
    parts |= {name: _flag(name, value) for name, value in (flags or {}).items() if value is not None}
    parts |= {
        name: f"{exact_amount(name, value, zero=True):f}"
        for name, value in (amounts or {}).items()
        if value is not None
    }
    spelled = {_camel(name): value for name, value in parts.items()}
    return "?" + urlencode(spelled, safe="", quote_via=quote) if spelled else ""


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return value


def _flag(name: str, value: bool) -> str:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True, False or None, not {type(value).__name__}")
    return "true" if value else "false"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
