"""One call from start to end: sign and send, read the envelope, try again, name what failed.

Resources state what they call and what they expect; everything that all calls share happens here, once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from flask_paycheckout.client.envelope import (
    JsonObject,
    Unreadable,
    data_of,
    envelope_of,
    error_text,
    status_code_of,
)
from flask_paycheckout.client.errors import (
    OutcomeUnknown,
    PaymentsError,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
    refusal_for,
)
from flask_paycheckout.client.hidden import Hidden, Sealed, hidden_in, hide
from flask_paycheckout.client.operations import Access, Forms
from flask_paycheckout.client.paging import OnlyRecord, Page, page_of, walk
from flask_paycheckout.client.reading import reader_of
from flask_paycheckout.client.records import Record, ResponseHeaders, ResponseInfo, attach_response
from flask_paycheckout.client.retries import SHORTEST_ATTEMPT, moment_of, seconds_to_wait
from flask_paycheckout.client.sending import credentials_of
from flask_paycheckout.client.waiting import W

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Mapping

    import httpx

    from flask_paycheckout.client.bodies import Fields
    from flask_paycheckout.client.operations import Operation
    from flask_paycheckout.client.retries import Retries
    from flask_paycheckout.client.sending import Sender
    from flask_paycheckout.client.signing import RenewedToken

__all__ = ["Caller", "Observe"]

_log = logging.getLogger("flask_paycheckout.client")

T = TypeVar("T")
R = TypeVar("R", bound=Record)

Observe = Callable[[str, "PaymentsError | None", float], object]
"""Called after each call with its operation, its error, and the seconds that it took."""


def _plain(value: object) -> str:
    """A hidden value as it is sent."""
    if not isinstance(value, Hidden):
        raise TypeError(f"{type(value).__name__} is no JSON")
    return str(value)


_encode = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number").encode


class Caller(Generic[W]):
    """Carries out operations for the resources of one client.

    The methods differ in what they make of the answer; these arguments mean the same for all of them:

    :param ids: what stands in the path's places.
    :param query: the query string with its question mark, as `bodies.Fields.query` makes it.
    :param body: the JSON object to send; amounts as `amounts.as_number` makes them.
    :param references: what a lost call could be looked up by.
    :param timeout: seconds that this call may take in all; the client's own when not given.
    :raises PaymentsError: see `errors`.
    """

    __slots__ = ("forms", "observe", "retries", "sender", "waiting")

    def __init__(
        self, sender: Sender[W], retries: Retries, observe: Observe | None = None, forms: Forms | None = None
    ) -> None:
        self.sender = sender
        self.waiting = sender.waiting
        self.retries = retries
        self.observe = observe
        self.forms = forms or Forms()

    async def record(self, operation: Operation[R], **asked: Any) -> R:
        """The record in the response's `data`."""
        reader = reader_of(operation.answer)
        return await self._ask(operation, lambda response: response.kept_in(reader.read(response.data())), **asked)

    async def records(self, operation: Operation[R], **asked: Any) -> tuple[R, ...]:
        """The records of the array in the response's `data`."""
        reader = reader_of(operation.answer)
        return await self._ask(
            operation, lambda response: response.kept_in_each(reader.read_each(response.data())), **asked
        )

    async def page(
        self,
        operation: Operation[R],
        fields: Fields,
        filters: Mapping[str, Any],
        page: int | None,
        timeout: float | None,
    ) -> Page[R]:
        """The page in the response's `data`.

        :param fields: writes the filters.
        """
        query = fields.query(filters, page)
        read = await self._ask(
            operation, lambda response: _page(response, response.data(), operation), query=query, timeout=timeout
        )
        return replace(read, read_page=lambda number: self.page(operation, fields, filters, number, timeout))

    async def page_or_records(self, operation: Operation[R], **asked: Any) -> Page[R] | tuple[R, ...] | OnlyRecord[R]:
        """A list whose form the interface leaves open: a page, an array, or the page's first record alone."""
        reader = reader_of(operation.answer)

        def read(response: _Response) -> Page[R] | tuple[R, ...] | OnlyRecord[R]:
            data = response.data()
            if isinstance(data, list):
                return response.kept_in_each(reader.read_each(data))
            if "docs" in data:
                return _page(response, data, operation)
            return OnlyRecord(response.kept_in_each((reader.read(data),)) if data else ())

        return await self._ask(operation, read, **asked)

    def iterate(
        self,
        operation: Operation[R],
        id_of: Callable[[R], str | None],
        fields: Fields,
        filters: Mapping[str, Any],
        timeout: float | None,
    ) -> AsyncGenerator[R, None]:
        """The records of every page; see `paging.walk`.

        :param fields: writes the filters.
        :param timeout: seconds for the call of each page.
        """
        # A filter that is wrong is named here, not when the first record is wanted.
        fields.query(filters)

        async def fetch(number: int) -> tuple[Page[R], bool]:
            return await self.page(operation, fields, filters, number, timeout), False

        return walk(str(operation), fetch, id_of, sort=filters.get("sort"))

    async def data(self, operation: Operation[Any], **asked: Any) -> JsonObject | list[Any] | None:
        """The response's `data`, as it is."""
        return await self._ask(operation, lambda response: response.envelope().get("data"), **asked)

    async def done(self, operation: Operation[Any], **asked: Any) -> None:
        """Nothing; returns when the service says that it went well."""
        await self._ask(operation, _Response.envelope, **asked)

    async def outcome(self, operation: Operation[Any], **asked: Any) -> tuple[RequestRefused | None, float | None]:
        """The refusal, given back instead of raised, or None; and the service's time in Unix seconds."""

        def read(response: _Response) -> tuple[RequestRefused | None, float | None]:
            date = moment_of(response.http.headers.get("date"))
            try:
                response.envelope()
            except RequestRefused as refused:
                return refused.with_traceback(None), date
            return None, date

        return await self._ask(operation, read, **asked)

    async def document(self, operation: Operation[Any], media_type: str, magic: bytes, **asked: Any) -> bytes:
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

        return await self._ask(operation, read, **asked)

    async def _ask(
        self,
        operation: Operation[Any],
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
        attempt: Callable[[float], Awaitable[T]] = partial(self._attempt, call, read)
        if (token := self.sender.renewable(operation)) is not None:
            attempt = self._renewing(token, attempt)
        retries = self.retries if timeout is None else self.retries.within(timeout)
        began = retries.pace.elapsed()
        try:
            result = await retries.run(attempt, self.waiting, repeatable=operation.repeatable)
        except PaymentsError as error:
            self._report(operation, error, began)
            raise
        self._report(operation, None, began)
        return result

    def _report(self, operation: Operation[Any], error: PaymentsError | None, began: float) -> None:
        """Tell who observes the calls."""
        if self.observe is not None:
            # An observer changes nothing: the call may have moved money.
            with suppress(Exception):
                self.observe(str(operation), error, self.retries.pace.elapsed() - began)

    def _renewing(
        self, token: RenewedToken, attempt: Callable[[float], Awaitable[T]]
    ) -> Callable[[float], Awaitable[T]]:
        """The attempts of one call, one of them made again with another token after a 401.

        A 401 is certain: the service carried nothing out, so that a call which moves money may be sent again too.
        """
        elapsed, in_thread = self.retries.pace.elapsed, self.waiting.in_thread
        renewed = False

        async def run(left: float) -> T:
            nonlocal renewed
            until = elapsed() + left
            held = token.held or await in_thread(partial(token.renew, None))
            try:
                return await attempt(left)
            except Unauthorized as error:
                if error.status_code != 401 or renewed:
                    raise
                refused = error
            renewed = True
            try:
                await in_thread(partial(token.renew, held))
            except Exception as failed:
                raise refused from failed
            left = until - elapsed()
            if left < SHORTEST_ATTEMPT:
                raise refused
            return await attempt(left)

        return run

    async def _attempt(self, call: _Call, read: Callable[[_Response], T], left: float) -> T:
        # Errors are raised outside of the handlers, and without the frames that held the answer's words: those may
        # repeat what was sent.
        failure: PaymentsError
        operation, http = call.operation, None
        began = self.retries.pace.elapsed()
        try:
            wall = self.retries.pace.wall()
            http = await self.sender.send(operation, call.path + call.query, call.body, left, wall)
            result = _read(read, _Response(call, http, wall))
        except TransportFailed as failed:
            failure = call.failed(failed)
        except RequestRefused as refused:
            failure = call.refused(refused)
        else:
            self._log(call, f"HTTP {http.status_code}", began)
            return result
        failure.requested_id = call.requested_id
        if http is not None:
            failure.http_status, failure.headers = http.status_code, ResponseHeaders(http.headers)
        self._log(call, failure, began)
        raise failure.with_traceback(None)

    def _log(self, call: _Call, outcome: object, began: float) -> None:
        """Log one request: neither its query, which may hold names and addresses, nor its headers and body."""
        if _log.isEnabledFor(logging.DEBUG):
            took = 1000 * (self.retries.pace.elapsed() - began)
            _log.debug("%s %s: %s (%.0f ms)", call.operation.method, call.path, outcome, took)


class _Call(msgspec.Struct, frozen=True):
    """What is sent in every attempt of one call.

    :ivar path: below the base URL, without the query.
    :ivar requested_id: the id in the path, unquoted.
    """

    operation: Operation[Any]
    path: str
    query: str
    body: Sealed
    secrets: tuple[Hidden, ...]
    references: tuple[str, ...]
    requested_id: str | None

    def failed(self, failed: TransportFailed) -> TransportFailed:
        """The failure without what was sent, which a transport of the caller's own may quote."""
        operation, message = self.operation, hide(failed.message or "", self.secrets)
        if operation.may_move_money and failed.request_sent:
            return OutcomeUnknown(
                str(operation), message, failed.retry_after, references=self.references, lookup=operation.lookup
            )
        failure = TransportFailed(str(operation), message, failed.retry_after, failed.request_sent)
        failure.retryable = failure.retryable or operation.repeatable
        return failure

    def refused(self, refused: RequestRefused) -> RequestRefused:
        """The refusal, with what only the operation knows of it."""
        operation = self.operation
        if isinstance(refused, ServiceFault):
            refused.retryable = refused.retryable or operation.repeatable
            if operation.may_move_money:
                refused.references, refused.lookup = self.references, operation.lookup
        if operation.access is Access.OPEN and isinstance(refused, Unauthorized):
            # The call itself carried the credentials.
            refused.retryable = False
        return refused


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

    def kept_in(self, record: R) -> R:
        """A record of this response."""
        attach_response(record, self.info)
        return record

    def kept_in_each(self, records: tuple[R, ...]) -> tuple[R, ...]:
        """Records of this response."""
        info = self.info
        for record in records:
            attach_response(record, info)
        return records

    def envelope(self) -> JsonObject:
        """The envelope of a success.

        :raises RequestRefused: it is the envelope of a refusal.
        :raises Unreadable: it is neither.
        """
        envelope = envelope_of(self.http.content)
        status_code = status_code_of(envelope, self._call.operation.status_key)
        if status_code >= 400:
            secrets = (*self._call.secrets, *credentials_of(self.http.request))
            error, message = (hide(error_text(envelope, key) or "", secrets) or None for key in ("error", "message"))
            kind = refusal_for(status_code)
            raise kind(str(self._call.operation), status_code, error, message, self._retry_after())
        return envelope

    def data(self) -> JsonObject | list[Any]:
        """The `data` of a success."""
        return data_of(self.envelope())

    def _retry_after(self) -> float | None:
        """The seconds of its `Retry-After`."""
        return seconds_to_wait(self.http.headers.get("retry-after"), self._wall)

    def unreadable(self, why: Unreadable) -> TransportFailed:
        """The error for a response that is neither success nor refusal."""
        return TransportFailed(str(self._call.operation), f"{why} (HTTP {self.http.status_code})", self._retry_after())


def _page(response: _Response, data: JsonObject | list[Any], operation: Operation[R]) -> Page[R]:
    """The page that the response's `data` is."""
    page = page_of(data, reader_of(operation.answer))
    response.kept_in_each(page.docs)
    return replace(page, response=response.info)


def _read(read: Callable[[_Response], T], response: _Response) -> T:
    """The result that `read` makes of a response."""
    try:
        return read(response)
    except Unreadable as unreadable:
        failure = response.unreadable(unreadable)
    raise failure
