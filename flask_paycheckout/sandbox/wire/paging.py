"""Paging of lists: the parameters `limit`, `page` and `sort`, and the pagination envelope.

A list declares its query as a subclass of `PageQuery`, and pages its statement:

    data = page_of(session, select(Recipient).where(...), Recipient, query, represent)

Rows of the same time are ordered by their number, which is unique, so that no row is repeated or left out between
pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.wire.envelope import FieldError, Record
from flask_paycheckout.sandbox.wire.field_types import Request, choice, whole
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
    wanted, held = text.casefold(), value.casefold()
    return wanted in held if assumption("text_filters") == "part" else wanted == held


# Large enough for every list, and the offset still fits into an integer of every database.
_MOST = 10**9 - 1

Row = TypeVar("Row")
Item = TypeVar("Item")


class PageQuery(Request):
    """The parameters of every list."""

    limit: Annotated[int, whole(1, _MOST)] = 10
    page: Annotated[int, whole(1, _MOST)] = 1
    sort: Annotated[str, choice("createdAt", "-createdAt", "updatedAt", "-updatedAt")] = "createdAt"


class Page(Record, Generic[Item]):
    """The pagination envelope of a list, in `data`."""

    docs: list[Item]
    total_docs: int
    offset: int
    limit: int
    total_pages: int
    page: int
    paging_counter: int
    has_prev_page: bool
    has_next_page: bool
    prev_page: int | None
    next_page: int | None


def page_of(
    session: Session,
    statement: Select[Row],
    table: Any,
    query: PageQuery,
    represent: Callable[[Row], Item],
) -> Page[Item]:
    """Return one page of a statement's rows in the pagination envelope; a page after the last one is empty.

    :param table: a mapped class with `created_at`, `updated_at`, and `number`, which ascends in the order of creation.
    """
    limit = allowed_limit(query.limit)
    offset = (query.page - 1) * limit
    total = session.scalars(select(func.count()).select_from(statement.subquery())).one()
    docs: list[Item] = []
    if offset < total:
        time = table.updated_at if query.sort.endswith("updatedAt") else table.created_at
        order = [column.desc() if query.sort.startswith("-") else column for column in (time, table.number)]
        docs = [represent(row) for row in session.scalars(statement.order_by(*order).limit(limit).offset(offset))]
    return envelope(docs, total, limit, query.page)


def allowed_limit(asked: int) -> int:
    """The page size, limited to the maximum. :raises FieldError: larger ones are refused."""
    maximum = int(assumption("limit_maximum"))
    if asked > maximum and assumption("limit_above_maximum") == "refused":
        raise FieldError(f"limit must be at most {maximum}.")
    return min(asked, maximum)


def envelope(docs: list[Item], total: int, limit: int, page: int) -> Page[Item]:
    """Put a page of items into the pagination envelope."""
    pages = -(-total // limit) or int(assumption("pages_of_nothing"))
    # For a page after the last one, the previous page is the last one.
    previous = min(page - 1, pages) or None
    following = page + 1 if page < pages else None
    offset = (page - 1) * limit
    return Page(
        docs=docs,
        total_docs=total,
        offset=offset,
        limit=limit,
        total_pages=pages,
        page=page,
        paging_counter=offset + 1,
        has_prev_page=previous is not None,
        has_next_page=following is not None,
        prev_page=previous,
        next_page=following,
    )
