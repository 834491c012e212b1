"""The pagination envelope of every list: `limit`, `page` and `sort` in, eleven fields out.

A list declares what it sorts by and pages its statement:

    ORDERING = Ordering(Recipient.created_at, Recipient.updated_at, Recipient.number)
    data = page_of(session, select(Recipient).where(...), ORDERING, read_paging(), represent)

Rows that were made in the same instant follow each other in the order of their making (the ordering's third column,
unique), so that no row is shown twice or left out between pages. An index over the filtered columns, the time and that
third column answers a page without reading the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from flask import request
from sqlalchemy import Select, func
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.fields import FieldError
from flask_paycheckout.sandbox.world import unknown

DEFAULT_LIMIT = 10
_SORTS = ("createdAt", "updatedAt")
# Nobody turns a page further than that, and the offset stays a number that every database takes.
_MOST_DIGITS = 9

Row = TypeVar("Row")


@dataclass(frozen=True)
class Paging:
    """What a caller asked of a list: how many items, which page, in which order."""

    limit: int = DEFAULT_LIMIT
    page: int = 1
    sort: str = "createdAt"
    descending: bool = False

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit


@dataclass(frozen=True)
class Ordering:
    """The columns a list is sorted by; `tie` is unique and grows with every row that is made."""

    created_at: InstrumentedAttribute[datetime]
    updated_at: InstrumentedAttribute[datetime]
    tie: InstrumentedAttribute[int]

    def apply(self, statement: Select[Row], paging: Paging) -> Select[Row]:
        time = self.created_at if paging.sort == "createdAt" else self.updated_at
        if paging.descending:
            return statement.order_by(time.desc(), self.tie.desc())
        return statement.order_by(time, self.tie)


def read_paging() -> Paging:
    """`limit`, `page` and `sort` of the current request's query."""
    sort = request.args.get("sort", "createdAt")
    if sort.removeprefix("-") not in _SORTS:
        raise FieldError("sort must be createdAt or updatedAt, with a leading - for the newest first.")
    return Paging(_limit(), _whole_number("page", 1), sort.removeprefix("-"), sort.startswith("-"))


def _limit() -> int:
    asked, most = _whole_number("limit", DEFAULT_LIMIT), int(unknown("limit_maximum"))
    if asked > most and unknown("limit_above_maximum") == "refused":
        raise FieldError(f"limit must be at most {most}.")
    return min(asked, most)


def _whole_number(name: str, default: int) -> int:
    sent = request.args.get(name)
    if sent is None:
        return default
    if not (sent.isascii() and sent.isdigit() and len(sent) <= _MOST_DIGITS and int(sent) > 0):
        raise FieldError(f"{name} must be a whole number from 1 on, of at most {_MOST_DIGITS} digits.")
    return int(sent)


def page_of(
    session: Session,
    statement: Select[Row],
    ordering: Ordering,
    paging: Paging,
    represent: Callable[[Row], Any],
) -> dict[str, Any]:
    """One page of what a statement selects, in its envelope; a page behind the last one is empty."""
    count = statement.with_only_columns(func.count(), maintain_column_froms=True).order_by(None)
    total = session.execute(count).scalar_one()
    docs: list[Any] = []
    if paging.offset < total:
        rows = session.scalars(ordering.apply(statement, paging).limit(paging.limit).offset(paging.offset))
        docs = [represent(row) for row in rows]
    return envelope(docs, total, paging)


def envelope(docs: list[Any], total: int, paging: Paging) -> dict[str, Any]:
    """The eleven fields around one page of items."""
    pages = -(-total // paging.limit) or int(unknown("pages_of_nothing"))
    # Behind the last page, the previous one is the last that exists.
    previous = min(paging.page - 1, pages) or None
    following = paging.page + 1 if paging.page < pages else None
    return {
        "docs": docs,
        "totalDocs": total,
        "offset": paging.offset,
        "limit": paging.limit,
        "totalPages": pages,
        "page": paging.page,
        "pagingCounter": paging.offset + 1,
        "hasPrevPage": previous is not None,
        "hasNextPage": following is not None,
        "prevPage": previous,
        "nextPage": following,
    }
