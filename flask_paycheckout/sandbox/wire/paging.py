"""Paging of lists: the parameters `limit`, `page` and `sort`, and the pagination envelope.

A list declares its query as a subclass of `PageQuery`, and pages the rows that its filters let through:

    data = page_of(made_by(session, Recipient, account), query, _is_wanted, partial(map, represent))

Texts and amounts are compared here and not in the database: databases differ in their rules for capital letters,
and SQLite has no exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from operator import attrgetter
from typing import Annotated, Generic, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.wire.envelope import FieldError, Record
from flask_paycheckout.sandbox.wire.field_types import Request, choice, whole
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import Made


def is_like(value: str | None, text: str | None) -> bool:
    """Whether a value passes a filter, in any case: as a whole or in part, as the unknown `text_filters` says."""
    if text is None:
        return True
    folded_text, folded_value = text.casefold(), (value or "").casefold()
    return folded_text in folded_value if assumption("text_filters") == "part" else folded_text == folded_value


def is_between(value: Decimal, minimum: Decimal | None, maximum: Decimal | None) -> bool:
    """Whether a value is within bounds, which are inclusive."""
    return (minimum is None or minimum <= value) and (maximum is None or value <= maximum)


# Large enough for every list; the offset still fits into an integer of every database.
_MOST = 10**9 - 1

Row = TypeVar("Row")
Item = TypeVar("Item")


class PageQuery(Request):
    """The parameters of every list."""

    limit: Annotated[int, whole(1, _MOST)] = 10
    page: Annotated[int, whole(1, _MOST)] = 1
    sort: Annotated[str, choice("createdAt", "-createdAt", "updatedAt", "-updatedAt")] = "createdAt"


Query = TypeVar("Query", bound=PageQuery)
OfAccount = TypeVar("OfAccount", bound=Made)


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


def made_by(session: Session, table: type[OfAccount], account: Account) -> Iterable[OfAccount]:
    """The rows of an account, the oldest first."""
    return session.scalars(select(table).where(table.user_id == account.user_id).order_by(table.number))


def page_of(
    rows: Iterable[Row],
    query: Query,
    is_wanted: Callable[[Row, Query], bool],
    represent: Callable[[list[Row]], Iterable[Item]],
) -> Page[Item]:
    """One page of the rows that a query wants, in the pagination envelope; a page after the last one is empty.

    :param rows: with `created_at` and `updated_at`, in the order of their creation, which rows with equal times keep.
    """
    limit = _allowed_limit(query.limit)
    time = attrgetter("updated_at" if query.sort.endswith("updatedAt") else "created_at")
    ordered = sorted((row for row in rows if is_wanted(row, query)), key=time)
    if query.sort.startswith("-"):
        ordered.reverse()
    total, page, offset = len(ordered), query.page, (query.page - 1) * limit
    pages = -(-total // limit) or int(assumption("pages_of_nothing"))
    # For a page after the last one, the previous page is the last one.
    previous = min(page - 1, pages) or None
    following = page + 1 if page < pages else None
    return Page(
        docs=list(represent(ordered[offset : offset + limit])),
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


def _allowed_limit(limit: int) -> int:
    """The page size, limited to the maximum. :raises FieldError: larger ones are refused."""
    maximum = int(assumption("limit_maximum"))
    if limit > maximum and assumption("limit_above_maximum") == "refused":
        raise FieldError(f"limit must be at most {maximum}.")
    return min(limit, maximum)
