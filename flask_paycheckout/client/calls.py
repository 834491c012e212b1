"""One call from start to end: sign and send, read the envelope, try again, name what failed.

Resources state what they call and what they expect; everything that all calls share happens here, once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
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
from flask_paycheckout.client.operations import Access
from flask_paycheckout.client.paging import DEFAULT_LIMIT, Page, attach_reading, page_of, page_of_array, walk
from flask_paycheckout.client.reading import reader_of
from flask_paycheckout.client.records import Record, ResponseHeaders, ResponseInfo, attach_response
from flask_paycheckout.client.retries import SHORTEST_ATTEMPT, seconds_to_wait
from flask_paycheckout.client.sending import SECRETS
from flask_paycheckout.client.waiting import W

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Mapping

    import httpx

    from flask_paycheckout.client.operations import Operation, PaymentsPath, RecipientDelete
    from flask_paycheckout.client.paging import Listing
    from flask_paycheckout.client.retries import Retries
    from flask_paycheckout.client.sending import Sender

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


@dataclass(repr=False)
class Caller(Generic[W]):
    """Carries out operations for the resources of one client.

    The methods differ in what they make of the answer; these arguments mean the same for all of them:

    :param requested_id: the id in the path's place.
    :param query: the query string with its question mark, as `bodies.Fields.query` makes it.
    :param body: the JSON object to send; amounts as `amounts.as_number` makes them.
    :param references: what a lost call could be looked up by.
    :param timeout: seconds that this call may take in all; the client's own when not given.
    :raises PaymentsError: see `errors`.

    :ivar payments_path: where payments are listed.
    :ivar recipient_delete: where the id of a recipient that is deleted stands.
    """

    sender: Sender[W]
    retries: Retries
    observe: Observe | None
    payments_path: PaymentsPath
    recipient_delete: RecipientDelete

    @property
    def waiting(self) -> W:
        """How the client waits."""
        return self.sender.waiting

    async def record(self, operation: Operation[R], **asked: Any) -> R:
        """The record in the response's `data`."""
        reader = reader_of(operation.answer)
        return await self._ask(operation, lambda response: response.kept_in(reader.read(response.data())), **asked)

    async def records(self, operation: Operation[R], **asked: Any) -> tuple[R, ...]:
        """The records of the array in the response's `data`."""
        reader = reader_of(operation.answer)
        return await self._ask(
            operation, lambda response: tuple(map(response.kept_in, reader.read_each(response.data()))), **asked
        )

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
        """A page, and whether it came as a plain array, or as its first record alone.

        :param may_be_blank: whether data without any field means that there is no record.
        """
        reader = reader_of(listing.operation.answer)
        limit = filters.get("limit") or DEFAULT_LIMIT

        def read(response: _Response) -> tuple[Page[R], str]:
            data, form = response.data(), "page"
            if listing.is_open and isinstance(data, list):
                form = "array"
            elif listing.is_open and "docs" not in data:
                data, form = [data] if data else [], "record"
            if form == "page":
                found = response.kept_in(page_of(data, reader))
                docs = found.docs
            else:
                docs = reader.read_each(data)
                found = page_of_array(docs, page or 1, limit)
            for record in docs:
                response.kept_in(record)
            return found, form

        found, form = await self._ask(
            listing.operation, read, query=listing.filters.query(filters, page), timeout=timeout
        )
        if form == "record":
            if not found.docs and not may_be_blank:
                # A look-up that finds nothing lets a payout be sent again, which needs a clearer answer than `{}`.
                raise TransportFailed(str(listing.operation), "the answer does not say whether there are records")
            if found.docs and limit > 1:
                # Each answer shows one record: the page is read as so many pages of one.
                docs: tuple[R, ...] = ()
                for place in range((found.page - 1) * limit + 1, found.page * limit + 1):
                    single, _ = await self.fetch(listing, {**filters, "limit": 1}, place, timeout)
                    if not single.docs:
                        break
                    docs += single.docs
                found = page_of_array(docs, found.page, limit)
        return found, form != "page"

    async def data(self, operation: Operation[Any], **asked: Any) -> JsonObject | list[Any] | None:
        """The response's `data`, as it is."""
        return await self._ask(operation, lambda response: response.envelope().get("data"), **asked)

    async def pdf(self, operation: Operation[Any], **asked: Any) -> bytes:
        """The body itself, when it is HTTP 200 and a PDF; otherwise the envelope decides."""

        def read(response: _Response) -> bytes:
            http = response.http
            given = http.headers.get("content-type", "").partition(";")[0].strip().lower()
            if http.status_code == 200 and given == "application/pdf":
                if not http.content.startswith(b"%PDF"):
                    raise Unreadable("the body is called a PDF and is none")
                return http.content
            response.envelope()
            raise Unreadable("the answer is no PDF")

        return await self._ask(operation, read, **asked)

    async def _ask(
        self,
        operation: Operation[Any],
        read: Callable[[_Response], T],
        *,
        requested_id: str | None = None,
        query: str = "",
        body: JsonObject | None = None,
        references: tuple[str, ...] = (),
        timeout: float | None = None,
    ) -> T:
        path = operation.path_for(requested_id)
        sent = Sealed(b"" if body is None else _encode(body))
        call = _Call(operation, path, query, sent, tuple(hidden_in(body)), references, requested_id)
        retries = self.retries if timeout is None else self.retries.within(timeout)
        began = retries.pace.elapsed()
        try:
            result = await self._tried(operation, partial(self._attempt, call, read), retries)
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

    async def _tried(self, operation: Operation[Any], attempt: Callable[[float], Awaitable[T]], retries: Retries) -> T:
        """The result of a call's attempts, which are made again with another token after a 401.

        A 401 is certain: the service carried nothing out, so that a call which moves money may be sent again too.
        """
        run = partial(retries.run, attempt, self.waiting, repeatable=operation.repeatable)
        if (token := self.sender.renewable(operation)) is None:
            return await run()
        until = retries.pace.elapsed() + retries.budget
        held = token.held or await self.waiting.in_thread(partial(token.renew, None))
        try:
            return await run()
        except Unauthorized as error:
            if error.status_code != 401:
                raise
            refused = error
        try:
            await self.waiting.in_thread(partial(token.renew, held))
        except Exception as failed:
            raise refused from failed
        if (left := until - retries.pace.elapsed()) < SHORTEST_ATTEMPT:
            raise refused
        return await run(budget=left)

    async def _attempt(self, call: _Call, read: Callable[[_Response], T], left: float) -> T:
        # Errors are raised outside of the handlers, and without the frames that held the answer's words: those may
        # repeat what was sent.
        failure: PaymentsError
        http, pace = None, self.retries.pace
        began, wall = pace.elapsed(), pace.wall()
        try:
            http = await self.sender.send(call.operation, call.path + call.query, call.body, left, wall)
            result = read(_Response(call, http))
        except TransportFailed as failed:
            failure = call.failed(failed.message, failed.request_sent)
        except Unreadable as unreadable:
            failure = call.failed(str(unreadable), http=http)
        except RequestRefused as refused:
            failure = call.refused(refused)
        else:
            self._log(call, f"HTTP {http.status_code}", began)
            return result
        failure.requested_id = call.requested_id
        if http is not None:
            failure.http_status, failure.headers = http.status_code, ResponseHeaders(http.headers)
            failure.retry_after = seconds_to_wait(http.headers.get("retry-after"), wall)
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

    def failed(
        self, message: str | None, request_sent: bool = True, http: httpx.Response | None = None
    ) -> TransportFailed:
        """The failure without what was sent, which a transport of the caller's own may quote."""
        operation, message = self.operation, hide(message or "", self.secrets)
        if http is not None:
            message = f"{message} (HTTP {http.status_code})"
        if operation.may_move_money and request_sent:
            lost = OutcomeUnknown(str(operation), message)
            lost.references, lost.lookup = self.references, operation.lookup
            return lost
        failure = TransportFailed(str(operation), message, request_sent=request_sent)
        failure.retryable |= operation.repeatable
        return failure

    def refused(self, refused: RequestRefused) -> RequestRefused:
        """The refusal, with what only the operation knows of it."""
        operation = self.operation
        if isinstance(refused, ServiceFault):
            refused.retryable |= operation.repeatable
            if operation.may_move_money:
                refused.references, refused.lookup = self.references, operation.lookup
        if operation.access is Access.OPEN and isinstance(refused, Unauthorized):
            # The call itself carried the credentials.
            refused.retryable = False
        return refused


@dataclass(frozen=True)
class _Response:
    """The response to one attempt.

    :ivar http: the response as httpx gives it.
    """

    call: _Call
    http: httpx.Response

    @cached_property
    def info(self) -> ResponseInfo:
        """The response as records tell of it."""
        return ResponseInfo(self.http.status_code, ResponseHeaders(self.http.headers), self.call.requested_id)

    def kept_in(self, record: Kept) -> Kept:
        """A record of this response."""
        attach_response(record, self.info)
        return record

    def envelope(self) -> JsonObject:
        """The envelope of a success.

        :raises RequestRefused: it is the envelope of a refusal.
        :raises Unreadable: it is neither.
        """
        envelope = envelope_of(self.http.content)
        operation = self.call.operation
        status_code = status_code_of(envelope, operation.status_key)
        if status_code >= 400:
            secrets = (*self.call.secrets, *self.http.request.extensions[SECRETS])
            error, message = (hide(error_text(envelope, key) or "", secrets) or None for key in ("error", "message"))
            raise refusal_for(status_code)(str(operation), status_code, error, message)
        return envelope

    def data(self) -> JsonObject | list[Any]:
        """The `data` of a success."""
        return data_of(self.envelope())
