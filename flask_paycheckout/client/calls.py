"""One call from start to end: sign and send, read the envelope, try again, name what failed.

Resources state what they call and what they expect; everything that all calls share happens here, once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
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
from flask_paycheckout.client.paging import DEFAULT_LIMIT, Page, attach_reading, page_of, page_of_array, walk
from flask_paycheckout.client.reading import reader_of
from flask_paycheckout.client.records import Record, ResponseHeaders, ResponseInfo, attach_response
from flask_paycheckout.client.retries import SHORTEST_ATTEMPT, seconds_to_wait
from flask_paycheckout.client.sending import credentials_of
from flask_paycheckout.client.waiting import W

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Mapping

    import httpx

    from flask_paycheckout.client.operations import Operation
    from flask_paycheckout.client.paging import Listing
    from flask_paycheckout.client.retries import Retries
    from flask_paycheckout.client.sending import Sender
    from flask_paycheckout.client.signing import RenewedToken

_log = logging.getLogger("flask_paycheckout.client")

T = TypeVar("T")
R = TypeVar("R", bound=Record)
Kept = TypeVar("Kept", bound=Record)

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
        records: tuple[R, ...] = await self._ask(
            operation, lambda response: response.kept_in((reader.read(response.data()),)), **asked
        )
        return records[0]

    async def records(self, operation: Operation[R], **asked: Any) -> tuple[R, ...]:
        """The records of the array in the response's `data`."""
        reader = reader_of(operation.answer)
        return await self._ask(operation, lambda response: response.kept_in(reader.read_each(response.data())), **asked)

    async def page(
        self, listing: Listing[R], filters: Mapping[str, Any], page: int | None, timeout: float | None
    ) -> Page[R]:
        """A page of a list."""
        found, _ = await self.fetch(listing, filters, page, timeout)
        return attach_reading(found, lambda number: self.page(listing, filters, number, timeout))

    def iterate(
        self, listing: Listing[R], filters: Mapping[str, Any], timeout: float | None
    ) -> AsyncGenerator[R, None]:
        """The records of every page; see `paging.walk`.

        :param timeout: seconds for the call of each page.
        """
        # A filter that is wrong is named here, not when the first record is wanted.
        listing.filters.query(filters)
        return walk(
            str(listing.operation),
            lambda number: self.fetch(listing, filters, number, timeout),
            listing.id_of,
            sort=filters.get("sort"),
        )

    async def fetch(
        self,
        listing: Listing[R],
        filters: Mapping[str, Any],
        page: int | None,
        timeout: float | None,
        *,
        may_be_blank: bool = True,
    ) -> tuple[Page[R], bool]:
        """A page, and whether it came as a plain array.

        :param may_be_blank: whether data without any field means that there is no record.
        """
        found = await self._shown(listing, filters, page, timeout)
        if isinstance(found, Page):
            return found, False
        docs, is_array = found
        if not is_array:
            if not docs and not may_be_blank:
                # A look-up that finds nothing lets a payout be sent again, which needs a clearer answer than `{}`.
                raise TransportFailed(str(listing.operation), "the answer does not say whether there are records")
            docs = await self._one_by_one(listing, filters, page or 1, docs, timeout)
        return page_of_array(docs, page, filters.get("limit")), True

    async def _shown(
        self, listing: Listing[R], filters: Mapping[str, Any], page: int | None, timeout: float | None
    ) -> Page[R] | tuple[tuple[R, ...], bool]:
        """A page; or the records that the answer shows, and whether they are all of the page's."""
        reader = reader_of(listing.operation.answer)

        def read(response: _Response) -> Page[R] | tuple[tuple[R, ...], bool]:
            data = response.data()
            if listing.is_open and isinstance(data, list):
                return response.kept_in(reader.read_each(data)), True
            if listing.is_open and "docs" not in data:
                return response.kept_in((reader.read(data),) if data else ()), False
            found = page_of(data, reader)
            response.kept_in((*found.docs, found))
            return found

        return await self._ask(listing.operation, read, query=listing.filters.query(filters, page), timeout=timeout)

    async def _one_by_one(
        self,
        listing: Listing[R],
        filters: Mapping[str, Any],
        page: int,
        first: tuple[R, ...],
        timeout: float | None,
    ) -> tuple[R, ...]:
        """The records of a page, of which each answer shows only the first: read as so many pages of one record."""
        limit = filters.get("limit") or DEFAULT_LIMIT
        docs = list(first if page == 1 else ())
        for place in range((page - 1) * limit + len(docs) + 1, page * limit + 1) if first else ():
            found = await self._shown(listing, {**filters, "limit": 1}, place, timeout)
            shown = found.docs if isinstance(found, Page) else found[0]
            if not shown:
                break
            docs.extend(shown)
        return tuple(docs)

    async def data(self, operation: Operation[Any], **asked: Any) -> JsonObject | list[Any] | None:
        """The response's `data`, as it is."""
        return await self._ask(operation, lambda response: response.envelope().get("data"), **asked)

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

    def kept_in(self, records: tuple[Kept, ...]) -> tuple[Kept, ...]:
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


def _read(read: Callable[[_Response], T], response: _Response) -> T:
    """The result that `read` makes of a response."""
    try:
        return read(response)
    except Unreadable as unreadable:
        failure = response.unreadable(unreadable)
    raise failure
