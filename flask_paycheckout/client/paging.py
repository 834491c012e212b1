"""Pages of a list, and iteration over all pages, which always ends."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from flask_paycheckout.client.envelope import Unreadable
from flask_paycheckout.client.errors import TransportFailed
from flask_paycheckout.client.records import EXTRA, GIVEN, R, Record, RecordReader, Sort, attach, reader_of
from flask_paycheckout.client.sending import Operation

T = TypeVar("T")

# Without a limit, a list that grows while it is read could be read forever.
_MOST_PAGES = 100_000
# The number of records that are remembered; records move only by a few places while a list is read.
_MOST_KNOWN = 100_000
# The maximum number of consecutive pages with only known records, which new records may cause; more mean an endless
# list.
_MOST_IDLE = 1_000

if TYPE_CHECKING:
    ReadPage = Callable[[], Coroutine[Any, Any, "Page[T]"]]
    _Fetch = Callable[[int], Awaitable[tuple["Page[T]", bool]]]

DEFAULT_LIMIT = 10
"""The default page size of the service's lists."""

# The name under which a page keeps the function that reads the next page.
READ_PAGE = "_read_page"


@dataclass(frozen=True)
class Listing(Generic[R]):
    """A list of the service.

    :ivar filters: the `TypedDict` of its filters, which `bodies.Fields` encodes in the query.
    :ivar id_of: returns the id that identifies a record; a record without an id is never skipped.
    :ivar is_open: whether the interface leaves its form open: a page, an array, or the page's first record alone.
    """

    operation: Operation[R]
    filters: Any
    id_of: Callable[[R], str | None]
    is_open: bool = False


class _Numbers(Record, frozen=True, kw_only=True):
    """The numbers of a page: its position in the list."""

    total_docs: int
    limit: int
    total_pages: int
    page: int
    has_prev_page: bool
    has_next_page: bool
    offset: int = GIVEN
    paging_counter: int = GIVEN
    prev_page: int | None = None
    next_page: int | None = None


class Page(_Numbers, Generic[T], frozen=True, kw_only=True):
    """One page of a list; iterating over it returns its records, and `len` their number.

    :ivar docs: the records of this page, in the requested order.
    :ivar total_docs: the number of records in the whole list.
    :ivar offset: the number of records before this page.
    :ivar limit: the page size.
    :ivar total_pages: the number of pages of that size.
    :ivar page: this page's number; the first is 1.
    :ivar paging_counter: the position of the page's first record in the list; the first position is 1.
    :ivar has_prev_page: whether there is a previous page.
    :ivar has_next_page: whether there is a next page.
    :ivar prev_page: the number of the previous page, or None.
    :ivar next_page: the number of the next page, or None.
    """

    docs: tuple[T, ...]

    def __iter__(self) -> Iterator[T]:
        return iter(self.docs)

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def read_page(self) -> ReadPage[T] | None:
        """The function that reads the next page, for `client.next_page`; None for a page that was unpickled."""
        return self.__dict__.get(READ_PAGE)


def page_of(data: object, reader: RecordReader[R]) -> Page[R]:
    """The page in parsed `data`.

    :raises Unreadable: the data is no page, or a record cannot be read.
    """
    if not isinstance(data, dict):
        raise Unreadable("the data is not a page")
    numbers = reader_of(_Numbers).read({name: data[name] for name in data if name != "docs"})
    page = Page(docs=reader.read_each(data.get("docs")), **msgspec.structs.asdict(numbers))
    return attach(page, EXTRA, numbers.extra)


def page_of_array(docs: tuple[T, ...], number: int, limit: int) -> Page[T]:
    """The page for a plain array, given the requested page number and page size.

    An array says nothing about the rest of the list: `total_docs` and `total_pages` count only the known records. An
    array longer than the page size is the whole list, because the service ignored the paging. A shorter array counts as
    the last page. After an array of exactly the page size, there may be another page. `walk` does not rely on this: it
    reads on until a page has nothing new, because the service's page size may be smaller than the requested one.
    """
    more = len(docs) == limit
    if len(docs) > limit:
        number, limit = 1, len(docs)
    return Page(
        docs=docs,
        offset=(number - 1) * limit,
        paging_counter=(number - 1) * limit + 1,
        total_docs=(number - 1) * limit + len(docs),
        limit=limit,
        total_pages=number,
        page=number,
        has_prev_page=number > 1,
        has_next_page=more,
        prev_page=number - 1 or None,
        next_page=number + 1 if more else None,
    )


async def walk(
    listing: Listing[R],
    fetch: _Fetch[R],
    most_pages: int = _MOST_PAGES,
    *,
    sort: Sort | None = None,
    only_grows: bool = False,
) -> AsyncGenerator[R, None]:
    """Every record of a list once, one page at a time; each page is read when its first record is needed.

    Every record that is in the list from the walk's beginning to its end is returned. New records at the list's
    beginning only push known records onto the next page, where they are skipped. If a record leaves the list, later
    records move up, some of them onto a page that was read already. After each page, the previous page is therefore
    read again, unless the page itself shows that nothing moved up: it begins with a known record, or the list is sorted
    by `-createdAt` and its total did not decrease. Records that moved up are returned before the page's own records.

    With the order `-updatedAt`, a record that is updated before its page is read moves to the beginning, and is missed.

    :param fetch: reads the page with a number, and says whether the answer was a plain array.
    :param most_pages: the maximum number of pages that are read from an endless list.
    :param sort: the list's order; by default the service's.
    :param only_grows: whether no record ever leaves the list, so that no page needs to be read again.
    :raises TransportFailed: the pages do not end.
    """
    operation, id_of = listing.operation, listing.id_of
    known_ids = OrderedDict[str, None]()
    number, furthest, total, idle = 1, 0, 0, 0
    ended = False
    for reads in count(1):
        page, is_array = await fetch(number)
        kept_total, total = not is_array and page.total_docs >= total, page.total_docs
        if number > 1 and not only_grows and not _shows_no_move(page, known_ids, id_of, sort, kept_total):
            behind = await _moved_up_to(number, fetch, known_ids, id_of)
            # An array that grows at its end may have a new record after its last page each time: check it only once.
            if behind is not None and reads < most_pages and not ended:
                number, ended = behind, not page.docs
                continue
        goes_on = bool(page.docs) if is_array else page.has_next_page
        new = [record for record in page.docs if id_of(record) not in known_ids]
        idle = 0 if new else idle + 1
        if goes_on and (fault := _fault(page, idle, reads, most_pages)):
            raise TransportFailed(str(operation), f"the list does not end: {fault}")
        if goes_on and idle == 1 and number > furthest and await _is_first_again(page, fetch, id_of):
            if is_array:
                # The list ignores the page number, so all of it has been read.
                break
            raise TransportFailed(str(operation), f"the list does not end: page {number} is the first one again")
        known_ids |= dict.fromkeys(filter(None, map(id_of, new)))
        # Forget the oldest records, so that the memory for a long list is limited.
        while len(known_ids) > _MOST_KNOWN:
            known_ids.popitem(last=False)
        for record in new:
            yield record
        furthest = max(furthest, number)
        if not goes_on:
            break
        number += 1


def _fault(page: Page[Any], idle: int, reads: int, most_pages: int) -> str | None:
    """The reason why a list with another page is not read further, or None."""
    if not page.docs:
        return f"page {page.page} is empty and names a next page"
    if idle > _MOST_IDLE:
        return f"{_MOST_IDLE} pages brought nothing new"
    return f"it has more than {most_pages} pages" if reads >= most_pages else None


def _shows_no_move(
    page: Page[T], known_ids: dict[str, None], id_of: Callable[[T], str | None], sort: Sort | None, kept_total: bool
) -> bool:
    """Whether a page itself shows that no unread record moved up from it."""
    if sort in ("updatedAt", "-updatedAt"):
        # A known record may be anywhere.
        return False
    if sort == "-createdAt" and kept_total:
        # At least as many new records were added at the beginning as others left.
        return True
    return bool(page.docs) and id_of(page.docs[0]) in known_ids


async def _moved_up_to(
    number: int, fetch: _Fetch[T], known_ids: dict[str, None], id_of: Callable[[T], str | None]
) -> int | None:
    """Look back from page `number`: the earliest page with records that the walk has not returned yet, or None.

    Records move to earlier pages when others before them are removed during the walk.
    """
    first = None
    for before in range(number - 1, 0, -1):
        docs = (await fetch(before))[0].docs
        unread = [
            record_id for record in docs if (record_id := id_of(record)) is not None and record_id not in known_ids
        ]
        if unread:
            first = before
        if docs and id_of(docs[0]) not in unread:
            break
    return first


async def _is_first_again(page: Page[T], fetch: _Fetch[T], id_of: Callable[[T], str | None]) -> bool:
    """Whether a page of known records equals the present first page; if not, new records were added before them."""
    first, _ = await fetch(1)
    return [id_of(record) for record in first.docs] == [id_of(record) for record in page.docs]
