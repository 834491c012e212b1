"""Keyword arguments as the service wants them: checked, in the wire's spelling, in a query or a JSON body.

The wire's names are the keyword arguments in camelCase. An argument that is None is left out. Complaints name the
argument, and for a batch the place in it, as in `items[3].amount`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlencode

from flask_paycheckout.client.hidden import Hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flask_paycheckout.client.envelope import JsonObject

__all__ = ["batch", "flag", "flags", "needed", "query_string", "secret", "text", "texts", "wire_name"]

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
    """`value` as a string that is not shown; see `text`."""
    return Hidden(text(name, value))


def needed(place: str = "", **values: str) -> JsonObject:
    """Strings that must be given, under their wire names; `place` goes before each name in a complaint."""
    return {wire_name(name): text(place + name, value) for name, value in values.items()}


def texts(place: str = "", **values: str | None) -> JsonObject:
    """Strings under their wire names; None leaves one out."""
    return {wire_name(name): text(place + name, value) for name, value in values.items() if value is not None}


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


def flags(**values: bool | None) -> JsonObject:
    """Flags as a query string spells them, under their wire names; None leaves one out."""
    return {wire_name(name): flag(name, value) for name, value in values.items() if value is not None}


def flag(name: str, value: bool) -> str:
    """`true` or `false`.

    :raises TypeError: it is no bool.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True, False or None, not {type(value).__name__}")
    return "true" if value else "false"


def query_string(values: Mapping[str, str]) -> str:
    """A query string with its question mark, or nothing when there are no values."""
    return "?" + urlencode(values, safe="", quote_via=quote) if values else ""


def wire_name(name: str) -> str:
    """The argument's name in camelCase."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
