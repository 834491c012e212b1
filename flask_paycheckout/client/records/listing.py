"""Reads lists of records, fast: by typed decoding straight from the answer's bytes.

Typed decoding takes the answer as its interface says, or gives up; then `reading` goes over it field by field and
keeps what can be kept, so that one odd field makes a list slow and never unreadable. Every record of a list counts:
one without its required fields makes the list `Unreadable`, since a payment that silently goes missing from a list
looks like one that was never made.

One mercy is particular to typed decoding: of a key that stands twice in an object, the last value holds. Records that
are read one by one refuse such answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from operator import attrgetter
from types import GenericAlias
from typing import Any, Generic, TypeVar, get_args

import msgspec

from flask_paycheckout.client.envelope import Ambiguous, JsonObject, Unreadable
from flask_paycheckout.client.hidden import AccountNumber
from flask_paycheckout.client.paging import Page
from flask_paycheckout.client.records.reading import RecordReader

__all__ = ["ListReader"]

R = TypeVar("R", bound=msgspec.Struct)

# Ten to the power of this is more than any amount; far beyond, a few bytes could become megabytes when printed.
_MAX_MAGNITUDE = 100


class ListReader(Generic[R]):
    """Makes lists and pages of records of one type; built once, used for every answer."""

    def __init__(self, record: type[R]) -> None:
        self._reader = RecordReader(record)
        records = GenericAlias(tuple, (record, ...))
        self._decode_list = _decoder_of(records)
        self._decode_page = _decoder_of(msgspec.defstruct("Docs", [("docs", records)], bases=(_Numbers,)))
        self._amounts = tuple(field.name for field in msgspec.structs.fields(record) if _is_amount(field.type))
        self._amounts_of = attrgetter(*self._amounts, *self._amounts[:1]) if self._amounts else None
        self._text_for_number = _text_for_number(record)

    def swift_list(self, body: bytes) -> tuple[R, ...] | None:
        """The records of a successful answer whose `data` is an array; None when it takes a closer look."""
        data = self._swift(self._decode_list, body)
        return data if data is not None and self._bounded(data) else None

    def swift_page(self, body: bytes) -> Page[R] | None:
        """The page of a successful answer whose `data` is the pagination envelope; None when it takes a closer look."""
        data = self._swift(self._decode_page, body)
        return page_of(data.docs, data) if data is not None and self._bounded(data.docs) else None

    def list(self, data: object) -> tuple[R, ...]:
        """The records of parsed `data`.

        :raises Unreadable: it is no list, or one of its records cannot be read.
        """
        return self._reader.read_each(data)

    def page(self, data: object) -> Page[R]:
        """The page that parsed `data` holds.

        :raises Unreadable: it is no page, or one of its records cannot be read.
        """
        if not isinstance(data, dict) or isinstance(data, Ambiguous):
            raise Unreadable("the data is not a page")
        return page_of(self._reader.read_each(data.get("docs")), _numbers_in(data))

    def _swift(self, decode: Any, body: bytes) -> Any:
        """The typed `data`, unless a field needs the lenient reader."""
        if b"\\" in body and b"\\u0000" in body:
            return None
        if any(pattern.search(body) for pattern in self._text_for_number):
            return None
        try:
            answer = decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return answer.data if 200 <= answer.statusCode < 300 else None

    def _bounded(self, records: tuple[R, ...]) -> bool:
        """Whether every amount is of a size that money has."""
        if self._amounts_of is None:
            return True
        return all(
            amount is None or -_MAX_MAGNITUDE < amount.adjusted() < _MAX_MAGNITUDE
            for amounts in map(self._amounts_of, records)
            for amount in amounts
        )


class _Numbers(msgspec.Struct, rename="camel", kw_only=True):
    """What a page says about itself."""

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


def page_of(docs: tuple[R, ...], numbers: _Numbers) -> Page[R]:
    """The page, when its numbers can be those of one.

    :raises Unreadable: a number is negative.
    """
    if min(numbers.total_docs, numbers.limit, numbers.total_pages, numbers.page) < 0:
        raise Unreadable("the page has a negative number")
    prev_page, next_page = numbers.prev_page, numbers.next_page
    return Page(
        docs=docs,
        total_docs=numbers.total_docs,
        offset=numbers.offset,
        limit=numbers.limit,
        total_pages=numbers.total_pages,
        page=numbers.page,
        paging_counter=numbers.paging_counter,
        has_prev_page=prev_page is not None if numbers.has_prev_page is None else numbers.has_prev_page,
        has_next_page=next_page is not None if numbers.has_next_page is None else numbers.has_next_page,
        prev_page=prev_page,
        next_page=next_page,
    )


_NUMBERS = RecordReader(_Numbers)


def _numbers_in(data: JsonObject) -> _Numbers:
    return _NUMBERS.read(data)


def _decoder_of(data: Any) -> Any:
    """Decodes an envelope with such `data`."""
    envelope = msgspec.defstruct("Envelope", [("statusCode", int), ("data", data)])
    return msgspec.json.Decoder(envelope, dec_hook=_hidden).decode


def _hidden(kind: type[Any], value: object) -> Any:
    """A hidden field's value, for the decoder; what raises here is read leniently."""
    if type(value) is str or (kind is AccountNumber and type(value) is int):
        return kind(value)
    raise TypeError(f"no {kind.__name__}")


def _is_amount(annotation: Any) -> bool:
    return Decimal in (annotation, *get_args(annotation))


def _text_for_number(record: type[msgspec.Struct]) -> tuple[re.Pattern[bytes], ...]:
    """What finds an amount that was sent as text, which typed decoding would take for a number.

    Only the ends of the names are looked for, so that few patterns do; a false find costs time only.
    """
    ends = {name[-5:] for name in _amount_names(record)}
    return tuple(re.compile(re.escape(f'{end}"').encode() + rb'\s*:\s*"') for end in sorted(ends))


def _amount_names(record: type[msgspec.Struct]) -> Iterator[str]:
    """The wire names of a record's amounts, those of records in it included."""
    for field in msgspec.structs.fields(record):
        if _is_amount(field.type):
            yield field.encode_name
        for inner in _records_in(field.type):
            yield from _amount_names(inner)


def _records_in(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield kind
