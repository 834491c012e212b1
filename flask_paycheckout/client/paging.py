"""Pages of a list, and walking from one to the next without ever walking in circles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from flask_paycheckout.client.errors import TransportFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["DEFAULT_LIMIT", "Page", "page_of_array", "walk"]

T = TypeVar("T")

# A list that grows while it is read could be walked for ever.
_MOST_PAGES = 100_000

DEFAULT_LIMIT = 10
"""The page size of the service's lists when none is asked for."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list.

    :ivar docs: the records on it, in the order asked for.
    :ivar total_docs: how many the whole list has.
    :ivar offset: how many come before this page; None when the answer does not say.
    :ivar limit: the page size.
    :ivar total_pages: how many pages of that size there are.
    :ivar page: this page's number; the first is 1.
    :ivar paging_counter: the position of the page's first record, the list's first being 1; None when not said.
    :ivar has_prev_page: whether a page comes before this one.
    :ivar has_next_page: whether one follows.
    :ivar prev_page: the number of the page before, or None.
    :ivar next_page: the number of the page that follows, or None.
    """

    docs: tuple[T, ...]
    total_docs: int
    offset: int | None
    limit: int
    total_pages: int
    page: int
    paging_counter: int | None
    has_prev_page: bool
    has_next_page: bool
    prev_page: int | None
    next_page: int | None


def page_of_array(docs: tuple[T, ...], asked_page: int | None, asked_limit: int | None) -> Page[T]:
    """The page that a plain array is, given which one was asked for.

    An array says nothing about the rest of the list: `total_docs` and `total_pages` count what is known to be there.
    One longer than the page size ignored the paging and is everything there is; a shorter one counts as the last page;
    one of exactly the page size may be followed by another. `walk` does not rely on that and reads on until a page
    brings nothing new, since the service may have a page size that is smaller than the one asked for.
    """
    limit = asked_limit or DEFAULT_LIMIT
    whole = len(docs) > limit
    number = 1 if whole else asked_page or 1
    offset = (number - 1) * limit
    more = len(docs) == limit
    return Page(
        docs=docs,
        total_docs=offset + len(docs),
        offset=offset,
        limit=len(docs) if whole else limit,
        total_pages=number,
        page=number,
        paging_counter=offset + 1,
        has_prev_page=number > 1,
        has_next_page=more,
        prev_page=number - 1 if number > 1 else None,
        next_page=number + 1 if more else None,
    )


def walk(operation: str, fetch: Callable[[int], tuple[Page[T], bool]], id_of: Callable[[T], str | None]) -> Iterator[T]:
    """Every record of a list, one page at a time, each page read when its first record is wanted.

    Ends after as many pages as the service says there are, and after 100,000 in any case. A list that changes
    meanwhile may show a record twice or not at all; the order `createdAt` moves least.

    :param fetch: reads the page of a number, and tells whether it came as a plain array.
    :param id_of: the id by which a page that repeats another one is known.
    :raises TransportFailed: the pages would not come to an end.
    """
    number, firsts = 1, set[str]()
    while True:
        page, is_array = fetch(number)
        first = id_of(page.docs[0]) if page.docs else None
        if is_array and (first is None or first in firsts):
            # Past the end, or a list that ignores the page asked for: it has been seen whole.
            return
        if fault := _fault(page, number, first in firsts, is_array):
            raise TransportFailed(operation, f"the list does not end: {fault}")
        yield from page.docs
        if not (page.has_next_page or is_array):
            return
        if first is not None:
            firsts.add(first)
        number += 1


def _fault(page: Page[T], number: int, repeats: bool, is_array: bool) -> str | None:
    """Why a page cannot be followed by another one."""
    if repeats:
        return f"page {number} begins as an earlier one did"
    if number >= _MOST_PAGES:
        return f"it has more than {_MOST_PAGES} pages"
    if is_array or not page.has_next_page:
        return None
    if page.next_page is None:
        return f"page {number} names no next page although one follows"
    if page.next_page != number + 1:
        return f"page {number} names page {page.next_page} as the next"
    if not page.docs:
        return f"page {number} is empty and names a next page"
    if page.next_page > page.total_pages:
        return f"page {number} of {page.total_pages} names page {page.next_page} as the next"
    return None
