"""One call from start to end: sign and send, read the envelope, try again, name what failed.

Resources state what they call and what they expect; everything that all calls share happens here, once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from flask_paycheckout.client.envelope import JsonObject, Unreadable, data_of, envelope_of, status_code_of, words_of
from flask_paycheckout.client.errors import (
    PaymentsError,
    RequestRefused,
    TransportFailed,
    refusal_for,
)
from flask_paycheckout.client.failures import advised, judge, masked, unknown
from flask_paycheckout.client.forms import Forms
from flask_paycheckout.client.hidden import Hidden, Sealed, hidden_in, hide
from flask_paycheckout.client.paging import OnlyRecord, Page, walk
from flask_paycheckout.client.records.pages import page_of
from flask_paycheckout.client.records.record import Record, came_in
from flask_paycheckout.client.renewing import Renewing
from flask_paycheckout.client.responses import ResponseHeaders, ResponseInfo
from flask_paycheckout.client.retries import moment_of, seconds_to_wait
from flask_paycheckout.client.sending import credentials_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx

    from flask_paycheckout.client.operations import Operation
    from flask_paycheckout.client.records.reading import RecordReader
    from flask_paycheckout.client.retries import Retries
    from flask_paycheckout.client.sending import Sender
    from flask_paycheckout.client.vocabulary import Sort

__all__ = ["Caller", "Observe"]

_log = logging.getLogger("flask_paycheckout.client")

T = TypeVar("T")
R = TypeVar("R", bound=Record)

_Secrets = tuple[Hidden, ...]

Observe = Callable[[str, "PaymentsError | None", float], object]
"""Called after each call with its operation, its error, and the seconds that it took."""


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
    :param timeout: seconds that this call may take in all; the client's own when not given.
    :raises PaymentsError: see `errors`.
    """

    __slots__ = ("forms", "observe", "retries", "sender")

    def __init__(
        self, sender: Sender, retries: Retries, observe: Observe | None = None, forms: Forms | None = None
    ) -> None:
        self.sender = sender
        self.retries = retries
        self.observe = observe
        self.forms = forms or Forms()

    def record(self, operation: Operation, reader: RecordReader[R], **asked: Any) -> R:
        """The record in the response's `data`."""
        return self._ask(operation, lambda response: response.brought(reader.read(response.data())), **asked)

    def records(self, operation: Operation, reader: RecordReader[R], **asked: Any) -> tuple[R, ...]:
        """The records of the array in the response's `data`."""
        return self._ask(operation, lambda response: response.brought_each(reader.read_each(response.data())), **asked)

    def page(self, operation: Operation, reader: RecordReader[R], **asked: Any) -> Page[R]:
        """The page in the response's `data`."""
        return self._ask(operation, lambda response: _page(response, response.data(), reader), **asked)

    def page_or_records(
        self, operation: Operation, reader: RecordReader[R], **asked: Any
    ) -> Page[R] | tuple[R, ...] | OnlyRecord[R]:
        """What comes of a list whose form is not shown: a page, an array, or the page's first record alone."""

        def read(response: _Response) -> Page[R] | tuple[R, ...] | OnlyRecord[R]:
            data = response.data()
            if isinstance(data, list):
                return response.brought_each(reader.read_each(data))
            if "docs" in data:
                return _page(response, data, reader)
            return OnlyRecord(response.brought_each((reader.read(data),)) if data else ())

        return self._ask(operation, read, **asked)

    def iterate(
        self,
        operation: Operation,
        reader: RecordReader[R],
        id_of: Callable[[R], str | None],
        query: Callable[[int], str],
        *,
        sort: Sort | None = None,
        timeout: float | None = None,
    ) -> Iterator[R]:
        """The records of every page; see `paging.walk`.

        :param query: the query string for the page of a number.
        :param timeout: seconds for the call of each page.
        """
        # A filter that is wrong is named here, not when the first record is wanted.
        query(1)

        def fetch(number: int) -> tuple[Page[R], bool]:
            return self.page(operation, reader, query=query(number), timeout=timeout), False

        return walk(str(operation), fetch, id_of, sort=sort)

    def done(self, operation: Operation, **asked: Any) -> None:
        """Nothing; returns when the service says that it went well."""
        self._ask(operation, _Response.envelope, **asked)

    def outcome(self, operation: Operation, **asked: Any) -> tuple[RequestRefused | None, float | None]:
        """The refusal, given back instead of raised, or None; and the service's time in Unix seconds."""

        def read(response: _Response) -> tuple[RequestRefused | None, float | None]:
            date = moment_of(response.http.headers.get("date"))
            try:
                response.envelope()
            except RequestRefused as refused:
                return refused.with_traceback(None), date
            return None, date

        return self._ask(operation, read, **asked)

    def document(self, operation: Operation, media_type: str, magic: bytes, **asked: Any) -> bytes:
        """The body itself, when it is HTTP 200 of that media type and begins so; otherwise the envelope decides."""

        def read(response: _Response) -> bytes:
            http = response.http
            given = http.headers.get("content-type", "").partition(";")[0].strip().lower()
            if http.status_code == 200 and given == media_type:
                if not http.content.startswith(magic):
                    raise Unreadable(f"the body is called {media_type} and is none")
                return http.content
            response.envelope()
            raise Unreadable(f"the answer is no {media_type}")

        return self._ask(operation, read, **asked)

    def _ask(
        self,
        operation: Operation,
        read: Callable[[_Response], T],
        *,
        ids: Mapping[str, str] | None = None,
        query: str = "",
        body: JsonObject | None = None,
        references: tuple[str, ...] = (),
        timeout: float | None = None,
    ) -> T:
        path = operation.path_for(**(ids or {}))
        requested = None if ids is None else next(iter(ids.values()), None)
        sent = Sealed(b"" if body is None else _encode(body))
        secrets = tuple(Hidden(secret) for secret in hidden_in(body))
        call = _Call(operation, path, query, sent, secrets, references, requested)
        attempt = self._renewing(operation, partial(self._attempt, call, read))
        retries = self.retries if timeout is None else self.retries.within(timeout)
        if self.observe is None:
            return retries.run(attempt, repeatable=operation.repeatable)
        began = retries.pace.elapsed()
        try:
            result = retries.run(attempt, repeatable=operation.repeatable)
        except PaymentsError as error:
            self._tell(operation, error, began)
            raise
        self._tell(operation, None, began)
        return result

    def _renewing(self, operation: Operation, attempt: Callable[[float], T]) -> Callable[[float], T]:
        """The attempt; where the operation's token can be renewed, one that is made once more after a 401."""
        token = self.sender.renewable(operation)
        return attempt if token is None else Renewing(token, attempt, self.retries.pace).run

    def _tell(self, operation: Operation, error: PaymentsError | None, began: float) -> None:
        # What is only observed must not change: the call may have moved money.
        with suppress(Exception):
            if self.observe is not None:
                self.observe(str(operation), error, self.retries.pace.elapsed() - began)

    def _attempt(self, call: _Call, read: Callable[[_Response], T], left: float) -> T:
        # Errors are raised outside of the handlers, and without the frames that held the answer's words: those may
        # repeat what was sent.
        failure: PaymentsError
        operation, http = call.operation, None
        began = self.retries.pace.elapsed()
        try:
            wall = self.retries.pace.wall()
            http = self.sender.send(operation, call.path + call.query, call.body, left, wall)
            result = _read(read, _Response(call, http, wall))
        except TransportFailed as failed:
            failure = unknown(operation, masked(failed, call.secrets), call.references)
        except RequestRefused as refused:
            failure = advised(operation, refused, call.references)
        else:
            if _log.isEnabledFor(logging.DEBUG):
                self._log(call, f"HTTP {http.status_code}", began)
            return result
        judge(operation, failure)
        failure.requested_id = call.requested_id
        if http is not None:
            failure.http_status, failure.headers = http.status_code, ResponseHeaders(http.headers)
        if _log.isEnabledFor(logging.DEBUG):
            self._log(call, str(failure), began)
        raise failure.with_traceback(None)

    def _log(self, call: _Call, outcome: str, began: float) -> None:
        """Log one request: neither its query, which may hold names and addresses, nor its headers and body."""
        took = 1000 * (self.retries.pace.elapsed() - began)
        _log.debug("%s %s: %s (%.0f ms)", call.operation.method, call.path, outcome, took)


class _Call(msgspec.Struct, frozen=True):
    """What is sent in every attempt of one call.

    :ivar path: below the base URL, without the query.
    :ivar requested_id: the id in the path, unquoted.
    """

    operation: Operation
    path: str
    query: str
    body: Sealed
    secrets: _Secrets
    references: tuple[str, ...]
    requested_id: str | None


class _Response:
    """The response to one attempt.

    :ivar http: the response as httpx gives it.
    """

    __slots__ = ("_call", "_wall", "http")

    def __init__(self, call: _Call, http: httpx.Response, wall: float) -> None:
        self._call = call
        self._wall = wall
        self.http = http

    @property
    def info(self) -> ResponseInfo:
        """The response as records tell of it."""
        return ResponseInfo(self.http.status_code, ResponseHeaders(self.http.headers), self._call.requested_id)

    def brought(self, record: R) -> R:
        """A record of this response."""
        came_in(record, self.info)
        return record

    def brought_each(self, records: tuple[R, ...]) -> tuple[R, ...]:
        """Records of this response."""
        info = self.info
        for record in records:
            came_in(record, info)
        return records

    def envelope(self) -> JsonObject:
        """The envelope of a success.

        :raises RequestRefused: it is the envelope of a refusal.
        :raises Unreadable: it is neither.
        """
        envelope = envelope_of(self.http.content)
        status_code = status_code_of(envelope, self._call.operation.status_key)
        if status_code >= 400:
            raise self._refusal(status_code, envelope)
        return envelope

    def data(self) -> JsonObject | list[Any]:
        """The `data` of a success."""
        return data_of(self.envelope())

    def _refusal(self, status_code: int, envelope: JsonObject) -> RequestRefused:
        secrets = (*self._call.secrets, *credentials_of(self.http.request))
        error, message = (hide(words_of(envelope, key) or "", secrets) or None for key in ("error", "message"))
        return refusal_for(status_code)(str(self._call.operation), status_code, error, message, self._retry_after())

    def _retry_after(self) -> float | None:
        """The seconds of its `Retry-After`."""
        return seconds_to_wait(self.http.headers.get("retry-after"), self._wall)

    def unreadable(self, why: Unreadable) -> TransportFailed:
        """The error for a response that is neither success nor refusal."""
        return TransportFailed(str(self._call.operation), f"{why} (HTTP {self.http.status_code})", self._retry_after())


def _page(response: _Response, data: JsonObject | list[Any], reader: RecordReader[R]) -> Page[R]:
    """The page that the response's `data` is."""
    page = page_of(data, reader)
    response.brought_each(page.docs)
    return replace(page, response=response.info)


def _read(read: Callable[[_Response], T], response: _Response) -> T:
    """The result that `read` makes of a response."""
    try:
        return read(response)
    except Unreadable as unreadable:
        failure = response.unreadable(unreadable)
    raise failure
