"""Pages of records: the service's pagination envelope."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from flask_paycheckout.client.envelope import Ambiguous, Unreadable
from flask_paycheckout.client.paging import Page
from flask_paycheckout.client.records.reading import RecordReader

__all__ = ["page_of"]

R = TypeVar("R", bound=msgspec.Struct)


class _Numbers(msgspec.Struct, rename="camel", kw_only=True):
    """The numbers of a page: where it stands in its list."""

    total_docs: int
    limit: int
    total_pages: int
    page: int
    offset: int | None = None
    paging_counter: int | None = None
    has_prev_page: bool | None = None
    has_next_page: bool | None = None
    prev_page: int | None = None
    next_page: int | None = None

    def __post_init__(self) -> None:
        if min(self.total_docs, self.limit, self.total_pages, self.page) < 0:
            raise ValueError("the page has a negative number")
        if self.has_prev_page is None:
            self.has_prev_page = self.prev_page is not None
        if self.has_next_page is None:
            self.has_next_page = self.next_page is not None


_NUMBERS = RecordReader(_Numbers)


def page_of(data: object, reader: RecordReader[R]) -> Page[R]:
    """The page that parsed `data` holds.

    :raises Unreadable: it is no page, or one of its records cannot be read.
    """
    if not isinstance(data, dict) or isinstance(data, Ambiguous):
        raise Unreadable("the data is not a page")
    docs = reader.read_each(data.get("docs"))
    return Page(docs=docs, **msgspec.structs.asdict(_NUMBERS.read(data)))
