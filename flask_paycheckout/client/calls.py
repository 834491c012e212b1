"""One call from start to end: sign and send, read the envelope, try again, name what failed.

Resources state what they call and what they expect; everything that all calls share happens here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from flask_paycheckout.client.envelope import JsonObject, Unreadable, data_of, envelope_of, status_code_of, words_of
from flask_paycheckout.client.errors import (
    OutcomeUnknown,
    PaymentsError,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
    refusal_for,
)
from flask_paycheckout.client.forms import Forms
from flask_paycheckout.client.hidden import Hidden, Sealed, hidden_in, hide
from flask_paycheckout.client.operations import Access
from flask_paycheckout.client.paging import OnlyRecord, Page, walk
from flask_paycheckout.client.records.pages import page_of
from flask_paycheckout.client.retries import moment_of, seconds_to_wait
from flask_paycheckout.client.sending import credentials_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx

    from flask_paycheckout.client.operations import Operation
    from flask_paycheckout.client.records.reading import RecordReader
    from flask_paycheckout.client.retries import Retries
    from flask_paycheckout.client.sending import Sender

__all__ = ["Caller", "Observe"]

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)

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
        return self._ask(operation, lambda response: reader.read(response.data()), **asked)

    def records(self, operation: Operation, reader: RecordReader[R], **asked: Any) -> tuple[R, ...]:
        """The records of the array in the response's `data`."""
        return self._ask(operation, lambda response: reader.read_each(response.data()), **asked)

    def page(self, operation: Operation, reader: RecordReader[R], **asked: Any) -> Page[R]:
        """The page in the response's `data`."""
        return self._ask(operation, lambda response: page_of(response.data(), reader), **asked)

    def page_or_records(
        self, operation: Operation, reader: RecordReader[R], **asked: Any
    ) -> Page[R] | tuple[R, ...] | OnlyRecord[R]:
        """What comes of a list whose form is not shown: a page, an array, or the page's first record alone."""

        def read(response: _Response) -> Page[R] | tuple[R, ...] | OnlyRecord[R]:
            data = response.data()
            if isinstance(data, list):
                return reader.read_each(data)
            if "docs" in data:
                return page_of(data, reader)
            return OnlyRecord((reader.read(data),) if data else ())

        return self._ask(operation, read, **asked)

    def iterate(
        self,
        operation: Operation,
        reader: RecordReader[R],
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
    ) -> T:
        path = operation.path_for(**(ids or {})) + query
        sent = Sealed(b"" if body is None else _encode(body))
        secrets = tuple(Hidden(secret) for secret in hidden_in(body))
        attempt = partial(self._attempt, operation, read, path, sent, secrets, references)
        if self.observe is None:
            return self.retries.run(attempt, repeatable=operation.repeatable)
        began = self.retries.pace.elapsed()
        try:
            result = self.retries.run(attempt, repeatable=operation.repeatable)
        except PaymentsError as error:
            self._tell(operation, error, began)
            raise
        self._tell(operation, None, began)
        return result

    def _tell(self, operation: Operation, error: PaymentsError | None, began: float) -> None:
        # What is only observed must not change: the call may have moved money.
        with suppress(Exception):
            if self.observe is not None:
                self.observe(str(operation), error, self.retries.pace.elapsed() - began)

    def _attempt(
        self,
        operation: Operation,
        read: Callable[[_Response], T],
        path: str,
        body: Sealed,
        secrets: _Secrets,
        references: tuple[str, ...],
        left: float,
    ) -> T:
        # Errors are raised outside of the handlers, and without the frames that held the answer's words: those may
        # repeat what was sent.
        failure: PaymentsError
        try:
            wall = self.retries.pace.wall()
            http = self.sender.send(operation, path, body, left, wall)
            return _read(read, _Response(operation, http, secrets, wall))
        except TransportFailed as failed:
            failure = _unknown(operation, _masked(failed, secrets), references)
        except RequestRefused as refused:
            failure = _advised(operation, refused, references)
        _judge(operation, failure)
        raise failure.with_traceback(None)


class _Response:
    """The response to one attempt.

    :ivar http: the response as httpx gives it.
    """

    __slots__ = ("_operation", "_secrets", "_wall", "http")

    def __init__(self, operation: Operation, http: httpx.Response, secrets: _Secrets, wall: float) -> None:
        self._operation = operation
        self._secrets = secrets
        self._wall = wall
        self.http = http

    def envelope(self) -> JsonObject:
        """The envelope of a success.

        :raises RequestRefused: it is the envelope of a refusal.
        :raises Unreadable: it is neither.
        """
        envelope = envelope_of(self.http.content)
        status_code = status_code_of(envelope, self._operation.status_key)
        if status_code >= 400:
            raise self._refusal(status_code, envelope)
        return envelope

    def data(self) -> JsonObject | list[Any]:
        """The `data` of a success."""
        return data_of(self.envelope())

    def _refusal(self, status_code: int, envelope: JsonObject) -> RequestRefused:
        secrets = (*self._secrets, *credentials_of(self.http.request))
        error, message = (hide(words_of(envelope, key) or "", secrets) or None for key in ("error", "message"))
        return refusal_for(status_code)(str(self._operation), status_code, error, message, self._retry_after())

    def _retry_after(self) -> float | None:
        """The seconds of its `Retry-After`."""
        return seconds_to_wait(self.http.headers.get("retry-after"), self._wall)

    def unreadable(self, why: Unreadable) -> TransportFailed:
        """The error for a response that is neither success nor refusal."""
        return TransportFailed(str(self._operation), f"{why} (HTTP {self.http.status_code})", self._retry_after())


def _read(read: Callable[[_Response], T], response: _Response) -> T:
    """The result that `read` makes of a response."""
    try:
        return read(response)
    except Unreadable as unreadable:
        failure = response.unreadable(unreadable)
    raise failure


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


def _judge(operation: Operation, failure: PaymentsError) -> None:
    """Correct `retryable` by what only the operation knows."""
    if operation.repeatable and isinstance(failure, (TransportFailed, ServiceFault)):
        failure.retryable = True
    if operation.access is Access.OPEN and isinstance(failure, Unauthorized):
        # The call itself carried the credentials.
        failure.retryable = False


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
