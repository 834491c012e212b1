"""Pages of a list, newest first, by the place of their last row: rows that come meanwhile move nothing.

A page takes at most as much work as its rows, or as a stretch of `LOOKED_THROUGH` rows when a filter leaves some out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.inspector.blueprint import query_text

MAX_ROWS = 50
"""Rows of a page."""
LOOKED_THROUGH = 10_000
"""The most rows that a page with a filter looks through."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PLACE = re.compile(r"([0-9]{1,17})-([0-9a-f]{1,24})")
_MAX_NUMBER = 2**31 - 1


@dataclass(frozen=True)
class Page:
    rows: Sequence[Any]
    older: str | None
    """The place that `?before=` continues from; None at the end."""


@dataclass(frozen=True)
class Order:
    """The columns that a list is ordered by: a time, and one that is unique, an id or a number."""

    at: Any
    tie: Any

    def place(self, at: datetime, tie: object) -> str:
        return f"{(at - _EPOCH) // _MICROSECOND}-{tie}"

    def below(self, place: str) -> list[ColumnElement[bool]]:
        """The condition that a row comes after a place; none for what is no place."""
        found = _PLACE.fullmatch(place)
        if found is None:
            return []
        tie: object = found[2]
        if self.tie.type.python_type is int:
            if not found[2].isdigit() or int(found[2]) > _MAX_NUMBER:
                return []
            tie = int(found[2])
        return [tuple_(self.at, self.tie) < (_EPOCH + int(found[1]) * _MICROSECOND, tie)]


def newest(
    session: Session,
    rows: Any,
    order: Order,
    indexed: list[ColumnElement[bool]],
    filters: list[ColumnElement[bool]],
) -> Page:
    """The page that begins at `?before=`.

    :param rows: the select of what a page shows; the model of the order comes first.
    :param indexed: conditions that an index over them and the order answers.
    :param filters: other conditions.
    """
    conditions = [*indexed, *order.below(query_text("before"))]
    stretch = select(order.at, order.tie).where(*conditions).order_by(order.at.desc(), order.tie.desc())
    if filters:
        looked_at = stretch.limit(LOOKED_THROUGH).subquery()
        at, tie = (looked_at.c[column.key] for column in (order.at, order.tie))
        wanted = rows.join(looked_at, tie == order.tie).where(*filters).order_by(at.desc(), tie.desc())
    else:
        wanted = rows.where(*conditions).order_by(order.at.desc(), order.tie.desc())
    found = session.execute(wanted.limit(MAX_ROWS + 1)).all()
    last: Any = None
    if len(found) > MAX_ROWS:
        record = found[MAX_ROWS - 1][0]
        last = (getattr(record, order.at.key), getattr(record, order.tie.key))
    elif filters:
        last = session.execute(stretch.offset(LOOKED_THROUGH - 1).limit(1)).first()
    return Page(found[:MAX_ROWS], None if last is None else order.place(*last))
