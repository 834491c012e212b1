"""Filters of lists, declared once as a `TypedDict` for `list` and `iterate`, and written as a query string."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from flask_paycheckout.client.amounts import Amount, exact_amount
from flask_paycheckout.client.bodies import flag, query_string, text, wire_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Filters"]


class Filters:
    """Writes the values of one `TypedDict` of filters; its annotations say how.

    :param declared: the `TypedDict`; `limit` is one of its keys, and the page none: `iterate` goes through all.
    """

    def __init__(self, declared: type[Any]) -> None:
        self._known = kinds = get_type_hints(declared)
        order = ["limit", "page", *(name for name in kinds if name != "limit")]
        self._writers = {name: _writer_of(kinds.get(name, int)) for name in order}

    def query(self, given: Mapping[str, Any], page: int | None = None) -> str:
        """The query string; a filter that is None is left out.

        :raises TypeError: there is no such filter, or its value has the wrong type.
        :raises ValueError: a count is not positive, an amount neither zero nor positive, a text not encodable.
        """
        for name in given:
            if name not in self._known:
                raise TypeError(f"there is no filter {name!r}; there are {', '.join(self._known)}")
        values = {**given, "page": page}
        return query_string(
            {
                wire_name(name): write(name, values[name])
                for name, write in self._writers.items()
                if values.get(name) is not None
            }
        )


def _writer_of(annotation: Any) -> Callable[[str, Any], str]:
    kinds = get_args(annotation) or (annotation,)
    if Decimal in kinds:
        return _amount
    if bool in kinds:
        return flag
    return _count if int in kinds else text


def _amount(name: str, value: Amount) -> str:
    return f"{exact_amount(name, value, zero=True):f}"


def _count(name: str, value: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return str(value)
