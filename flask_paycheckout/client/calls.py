"""One call from start to end: sign and send, read the envelope, try again, name what failed.

Resources state what they call and what they expect; everything that all calls share happens here, once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from flask_paycheckout.client.envelope import JsonObject, Unreadable, checked, data_of
from flask_paycheckout.client.errors import OutcomeUnknown, RequestRefused, ServiceFault, TransportFailed
from flask_paycheckout.client.hidden import Hidden, Sealed, hidden_in, hide
from flask_paycheckout.client.paging import Page, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flask_paycheckout.client.operations import Operation
    from flask_paycheckout.client.records.listing import ListReader
    from flask_paycheckout.client.records.reading import RecordReader
    from flask_paycheckout.client.retries import Retries
    from flask_paycheckout.client.transport import Answer, Transport

__all__ = ["Caller"]

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)

_Secrets = tuple[Hidden, ...]


def _plain(value: object) -> str:
    """A hidden value as it is sent."""
    if not isinstance(value, Hidden):
        raise TypeError(f"{type(value).__name__} is no JSON")
    return str(value)


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


class Caller:
    """Carries out operations for the resources of one client.

    The methods differ in what they make of the answer; these arguments mean the same for all of them:

    :param ids: what stands in the path's places.
    :param query: the query string with its question mark, as `bodies.query_of` makes it.
    :param body: the JSON object to send; amounts as `amounts.as_number` makes them.
    :param references: what a lost call could be looked up by.
    :raises PaymentsError: see `errors`.
    """

    __slots__ = ("retries", "transport")

    def __init__(self, transport: Transport, retries: Retries) -> None:
        self.transport = transport
        self.retries = retries

    def record(self, operation: Operation, reader: RecordReader[R], **asked: Any) -> R:
        """The record in the answer's `data`."""
        return self._ask(operation, lambda answer, secrets: reader.read(_data(operation, answer, secrets)), **asked)

    def records(self, operation: Operation, reader: ListReader[R], **asked: Any) -> tuple[R, ...]:
        """The records of the array in the answer's `data`."""

        def read(answer: Answer, secrets: _Secrets) -> tuple[R, ...]:
            records = reader.swift_list(answer.body)
            return reader.list(_data(operation, answer, secrets)) if records is None else records

        return self._ask(operation, read, **asked)

    def page(self, operation: Operation, reader: ListReader[R], **asked: Any) -> Page[R]:
        """The page in the answer's `data`."""

        def read(answer: Answer, secrets: _Secrets) -> Page[R]:
            page = reader.swift_page(answer.body)
            return reader.page(_data(operation, answer, secrets)) if page is None else page

        return self._ask(operation, read, **asked)

    def page_or_array(self, operation: Operation, reader: ListReader[R], **asked: Any) -> Page[R] | tuple[R, ...]:
        """The same for a list of which it is not shown whether it comes in pages or as a plain array."""

        def read(answer: Answer, secrets: _Secrets) -> Page[R] | tuple[R, ...]:
            swift = reader.swift_page(answer.body) or reader.swift_list(answer.body)
            if swift is not None:
                return swift
            data = _data(operation, answer, secrets)
            return reader.list(data) if isinstance(data, list) else reader.page(data)

        return self._ask(operation, read, **asked)

    def iterate(
        self,
        operation: Operation,
        reader: ListReader[R],
        id_of: Callable[[R], str | None],
        query: Callable[[int], str],
    ) -> Iterator[R]:
        """The records of every page; see `paging.walk`.

        :param query: the query string for the page of a number.
        """
        # A filter that is wrong is named here, not when the first record is wanted.
        query(1)
        return walk(str(operation), lambda number: (self.page(operation, reader, query=query(number)), False), id_of)

    def done(self, operation: Operation, **asked: Any) -> None:
        """Nothing but the word that it went well."""
        self._ask(operation, lambda answer, secrets: _envelope(operation, answer, secrets), **asked)

    def outcome(self, operation: Operation, **asked: Any) -> tuple[RequestRefused | None, float | None]:
        """What became of it: the refusal, given back instead of raised, and the service's time in Unix seconds."""

        def read(answer: Answer, secrets: _Secrets) -> tuple[RequestRefused | None, float | None]:
            try:
                _envelope(operation, answer, secrets)
            except RequestRefused as refused:
                return refused.with_traceback(None), answer.date
            return None, answer.date

        return self._ask(operation, read, **asked)

    def document(self, operation: Operation, media_type: str, magic: bytes, **asked: Any) -> bytes:
        """The answer itself, when it is HTTP 200 of that media type and begins so; otherwise the envelope decides."""

        def read(answer: Answer, secrets: _Secrets) -> bytes:
            if answer.http_status == 200 and answer.media_type == media_type:
                if not answer.body.startswith(magic):
                    raise Unreadable(f"the body is called {media_type} and is none")
                return bytes(answer.body)
            _envelope(operation, answer, secrets)
            raise Unreadable(f"the answer is no {media_type}")

        return self._ask(operation, read, **asked)

    def _ask(
        self,
        operation: Operation,
        read: Callable[[Answer, _Secrets], T],
        *,
        ids: Mapping[str, str] | None = None,
        query: str = "",
        body: JsonObject | None = None,
        references: tuple[str, ...] = (),
    ) -> T:
        path = operation.path_for(**(ids or {})) + query
        sent = Sealed(b"" if body is None else _encode(body))
        secrets = tuple(Hidden(secret) for secret in hidden_in(body))
        attempt = partial(self._attempt, operation, read, path, sent, secrets, references)
        return self.retries.run(attempt, repeatable=operation.repeatable)

    def _attempt(
        self,
        operation: Operation,
        read: Callable[[Answer, _Secrets], T],
        path: str,
        body: Sealed,
        secrets: _Secrets,
        references: tuple[str, ...],
        left: float,
    ) -> T:
        # Errors are raised outside of the handlers, and without the frames that held the answer's words: those may
        # repeat what was sent.
        failure: Exception
        try:
            answer = self.transport.send(operation, path, body, left, self.retries.pace.wall())
            return _read(operation, read, answer, (*secrets, *answer.credentials))
        except TransportFailed as failed:
            failure = _unknown(operation, _masked(failed, secrets), references)
        except RequestRefused as refused:
            failure = _advised(operation, refused, references)
        raise failure.with_traceback(None)


def _read(operation: Operation, read: Callable[[Answer, _Secrets], T], answer: Answer, secrets: _Secrets) -> T:
    """What an answer that says success holds."""
    try:
        return read(answer, secrets)
    except Unreadable as unreadable:
        why = f"{unreadable} (HTTP {answer.http_status})"
    raise TransportFailed(str(operation), why, answer.retry_after)


def _data(operation: Operation, answer: Answer, secrets: _Secrets) -> JsonObject | list[Any]:
    return data_of(str(operation), answer.body, answer.retry_after, status_key=operation.status_key, secrets=secrets)


def _envelope(operation: Operation, answer: Answer, secrets: _Secrets) -> None:
    checked(str(operation), answer.body, answer.retry_after, status_key=operation.status_key, secrets=secrets)


def _masked(failed: TransportFailed, secrets: _Secrets) -> TransportFailed:
    """The failure without what was sent: a transport of the caller's own may quote it."""
    message = hide(failed.message or "", secrets)
    return TransportFailed(failed.operation, message, failed.retry_after, failed.request_sent)


def _unknown(operation: Operation, failed: TransportFailed, references: tuple[str, ...]) -> TransportFailed:
    """The failure, as `OutcomeUnknown` when money may have moved."""
    if not operation.may_move_money or not failed.request_sent:
        return failed
    return OutcomeUnknown(
        failed.operation, failed.message, failed.retry_after, references=references, lookup=operation.lookup
    )


def _advised(operation: Operation, refused: RequestRefused, references: tuple[str, ...]) -> RequestRefused:
    """The refusal; with the advice how to look it up when the service failed while money may have moved."""
    if not operation.may_move_money or not isinstance(refused, ServiceFault):
        return refused
    return ServiceFault(
        refused.operation,
        refused.status_code,
        refused.error,
        refused.message,
        refused.retry_after,
        references,
        operation.lookup,
    )
