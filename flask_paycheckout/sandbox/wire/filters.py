"""Filters of lists by text: whether a text must be the whole value, or may be a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute

from flask_paycheckout.sandbox.world.context import assumption


def text_filters(
    wanted: Iterable[tuple[InstrumentedAttribute[Any], str | None]],
) -> Iterator[ColumnElement[bool]]:
    """The conditions of those columns for which a text is wanted, as the unknown `text_filters` says."""
    for column, text in wanted:
        if text is not None:
            is_part = assumption("text_filters") == "part"
            yield column.icontains(text, autoescape=True) if is_part else column == text


def is_wanted(value: str, text: str | None) -> bool:
    """Whether a value in memory passes a filter, in any case."""
    if text is None:
        return True
    if assumption("text_filters") == "part":
        return text.casefold() in value.casefold()
    return text.casefold() == value.casefold()
