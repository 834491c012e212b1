"""One call from start to end: sign and send, read the envelope, retry, and raise the error.

Resources declare their operations and records; this module has everything that all calls share.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import fields_of
from flask_paycheckout.client.envelope import (
    JsonObject,
    Unreadable,
    data_of,
    envelope_of,
    error_text,
    status_code_of,
)
from flask_paycheckout.client.errors import PaymentsError, RequestRefused, TransportFailed, Unauthorized, refusal_for
from flask_paycheckout.client.hidden import hide
from flask_paycheckout.client.paging import DEFAULT_LIMIT, READ_PAGE, Listing, Page, page_of, page_of_array, walk
from flask_paycheckout.client.records import RESPONSE, R, ResponseInfo, attach, reader_of
from flask_paycheckout.client.sending import SECRETS, Call, Operation, Sender
from flask_paycheckout.client.signing import RenewedToken
from flask_paycheckout.client.transport import RefusedResponse, ResponseHeaders, httpx
from flask_paycheckout.client.waiting import SHORTEST_ATTEMPT, Retries, seconds_to_wait

_log = logging.getLogger("flask_paycheckout.client")

T = TypeVar("T")

Observe = Callable[[str, "PaymentsError | None", float], object]
"""Called after each call with its operation, its error, and its duration in seconds."""

# The service has another form of the call, or no such resource.
_NOT_THERE = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(repr=False)
class Caller(Generic[W]):
    """Carries out operations for the resources of one client.

    The methods differ in the result that they read from the answer. Their keyword arguments are the fields of `Call`.

    :raises PaymentsError: see `errors`.

    :ivar waiting: blocks or awaits; see `waiting`.
    :ivar observe: see `Observe`.
    :ivar owns_connections: whether closing the client closes the connections.
    """

    waiting: W
    sender: Sender
    retries: Retries
    observe: Observe | None = None
    owns_connections: bool = True

    def limited(self, timeout: float | None = None, retries: int | None = None) -> Caller[W]:
        """This caller with other limits for a call; None keeps the present limit."""
        return replace(self, retries=self.retries.limited(timeout, retries))

    async def record(self, operation: Operation[R], **options: Any) -> R:
        """The record in the response's `data`."""
        reader = reader_of(operation.answer)
        return await self._ask(operation, lambda response: response.kept_in(reader.read(response.data())), **options)

    async def records(self, operation: Operation[R], **options: Any) -> tuple[R, ...]:
        """The records of the array in the response's `data`."""
        reader = reader_of(operation.answer)
        return await self._ask(
            operation, lambda response: tuple(map(response.kept_in, reader.read_each(response.data()))), **options
        )

    async def page(
        self,
        listing: Listing[R],
        filters: Mapping[str, Any],
        page: int | None,
        before: tuple[R, ...] | None = None,
    ) -> Page[R]:
        """A page of a list.

        :param before: the records of the previous page. They show a list that ignores the page number; the interface
            names no page number for the list of banks.
        """
        current, _ = await self.fetch(listing, filters, page)
        if current.docs == before:
            raise TransportFailed(str(listing.operation), f"page {page} has the records of the page before")
        return attach(current, READ_PAGE, lambda: self.page(listing, filters, current.page + 1, current.docs))

    def iterate(self, listing: Listing[R], filters: Mapping[str, Any]) -> AsyncGenerator[R, None]:
        """The records of every page; see `paging.walk`."""
        # Check the filters now, and not only when the first record is read.
        fields_of(listing.filters).query(filters)
        return walk(listing, lambda number: self.fetch(listing, filters, number), sort=filters.get("sort"))

    async def fetch(
        self,
        listing: Listing[R],
        filters: Mapping[str, Any],
        page: int | None,
        *,
        may_be_blank: bool = True,
    ) -> tuple[Page[R], bool]:
        """A page, and whether the answer was a plain array, or the page's first record alone.

        :param may_be_blank: whether an empty object as the first page means that there is no record.
        """
        reader = reader_of(listing.operation.answer)
        limit = filters.get("limit") or DEFAULT_LIMIT

        def read(response: _Response) -> tuple[Page[R], str]:
            data, form = response.data(), "page"
            if listing.is_open and isinstance(data, list):
                form = "array"
            elif listing.is_open and "docs" not in data:
                data, form = [data] if data else [], "record"
            result = (
                page_of(data, reader) if form == "page" else page_of_array(reader.read_each(data), page or 1, limit)
            )
            for record in result.docs:
                response.kept_in(record)
            return response.kept_in(result), form

        query = fields_of(listing.filters).query(filters, page)
        result, form = await self._ask(listing.operation, read, query=query)
        if form == "record":
            if not (result.docs or may_be_blank) and result.page == 1:
                # A lookup without a result lets a payout be sent again, which needs a clearer answer than `{}`.
                raise TransportFailed(str(listing.operation), "the answer does not say whether there are records")
            if result.docs and limit > 1:
                # Each answer has one record, so read the page as several pages with one record each.
                docs: tuple[R, ...] = ()
                for place in range((result.page - 1) * limit + 1, result.page * limit + 1):
                    single, _ = await self.fetch(listing, {**filters, "limit": 1}, place)
                    # A service that ignores the page number, for example because of an id filter, repeats its record.
                    if single.docs in ((), docs[-1:]):
                        break
                    docs += single.docs
                result = page_of_array(docs, result.page, limit)
        return result, form != "page"

    async def data(self, operation: Operation[Any], **options: Any) -> JsonObject | list[Any] | None:
        """The response's `data`, unchanged."""
        return await self._ask(operation, lambda response: response.envelope().get("data"), **options)

    async def pdf(self, operation: Operation[Any], **options: Any) -> bytes:
        """The body itself, if the HTTP status is 200 and the body a PDF; otherwise the envelope decides."""

        def read(response: _Response) -> bytes:
            http = response.http
            is_called_pdf = http.headers.get("content-type", "").lower().startswith("application/pdf")
            if http.status_code == 200 and is_called_pdf and http.content.startswith(b"%PDF"):
                return http.content
            response.envelope()
            raise Unreadable("the answer is no PDF")

        return await self._ask(operation, read, **options)

    async def _ask(self, operation: Operation[Any], read: Callable[[_Response], T], **options: Any) -> T:
        call, began = Call(operation, **options), self.retries.pace.elapsed()
        try:
            result = await self._tried(call, read)
        except PaymentsError as error:
            self._report(call, error, began)
            raise
        self._report(call, None, began)
        return result

    def _report(self, call: Call, error: PaymentsError | None, began: float) -> None:
        """Pass the call to the observer."""
        if self.observe is not None:
            # An observer's error must not change the result: the call may have moved money.
            with suppress(Exception):
                self.observe(call.name, error, self.retries.pace.elapsed() - began)

    async def _tried(self, call: Call, read: Callable[[_Response], T]) -> T:
        """The result of the first attempt that succeeds, within the call's time."""
        retries, pace = self.retries, self.retries.pace
        signer = self.sender.signers.get(call.operation.access)
        token = signer if isinstance(signer, RenewedToken) else None
        token_in_use = token and (token.held or await self.waiting.in_thread(partial(token.renew, None)))
        number, until = 0, pace.elapsed() + retries.budget
        refusal: RequestRefused | None = None
        while True:
            try:
                return await self._attempt(call, read, until - pace.elapsed())
            except PaymentsError as error:
                failure = error
            if isinstance(failure, RequestRefused) and failure.status_code in _NOT_THERE:
                if call.operation.sample is None:
                    raise refusal or failure
                call, refusal = call.in_other_form(), failure
            elif token is not None and isinstance(failure, Unauthorized):
                try:
                    await self.waiting.in_thread(partial(token.renew, token_in_use))
                except Exception as failed:
                    raise failure from failed
                # Renew the token only once in a call.
                token = None
                # The call may move money, so it is repeated only after a 401, which certainly carried nothing out.
                # After a 403 the next call uses the new token.
                if failure.status_code != HTTPStatus.UNAUTHORIZED or until - pace.elapsed() < SHORTEST_ATTEMPT:
                    raise failure
            else:
                repeatable = call.operation.repeatable
                await self.waiting.sleep(pace, retries.wait_after(failure, number, until, repeatable=repeatable))
                number += 1

    async def _attempt(self, call: Call, read: Callable[[_Response], T], left: float) -> T:
        failure: PaymentsError | None = None
        http, status, pace = None, None, self.retries.pace
        began, wall = pace.elapsed(), pace.wall()
        request = self.sender.request(call, left, wall)
        try:
            http = await self.waiting.send(request)
            status = http.status_code
            result = read(_Response(call, http))
        except PaymentsError as error:
            failure = error
        except RefusedResponse as refused:
            http, status = refused.response, refused.response.status_code
            failure = call.failed(f"{refused} (HTTP {status})")
        except Unreadable as unreadable:
            failure = call.failed(f"{unreadable} (HTTP {status})")
        except (httpx.RequestError, OSError, ValueError, TypeError, ArithmeticError) as error:
            # If a transport or hook raises an error, the request may have been sent already.
            # The caller's own transport may quote the request in its error.
            text = hide(_error_text(error), request.extensions[SECRETS])
            failure = call.failed(text, request_sent=not isinstance(error, _UNSENT))
        if failure is not None:
            call.complete(failure)
            if http is not None:
                failure.http_status, failure.headers = status, ResponseHeaders(http.headers)
                failure.retry_after = seconds_to_wait(http.headers.get("retry-after"), wall)
        took = 1000 * (pace.elapsed() - began)
        # Do not log the query, which may contain names and addresses, nor headers and body.
        _log.debug("%s %s: %s (%.0f ms)", call.operation.method, call.path, failure or f"HTTP {status}", took)
        if failure is None:
            return result
        # Raised outside of the handlers, and without the frames that contain the answer's text, which may repeat
        # secrets of the request.
        raise failure.with_traceback(None)


class _Response:
    """The response to one attempt.

    :ivar http: the response of httpx.
    :ivar info: the facts that its records keep.
    """

    def __init__(self, call: Call, http: httpx.Response) -> None:
        self.operation, self.http = call.operation, http
        headers = ResponseHeaders(http.headers)
        self.info = ResponseInfo(call.name, http.status_code, headers, call.requested_id)

    def kept_in(self, record: R) -> R:
        """Attach this response's facts to a record."""
        return attach(record, RESPONSE, self.info)

    def envelope(self) -> JsonObject:
        """The envelope of a success.

        :raises RequestRefused: the body is the envelope of a refusal.
        :raises Unreadable: the body is neither envelope.
        """
        envelope = envelope_of(self.http.content)
        status_code = status_code_of(envelope, self.operation.status_key)
        if status_code >= 400:
            secrets = self.http.request.extensions[SECRETS]
            error, message = (hide(error_text(envelope, key) or "", secrets) or None for key in ("error", "message"))
            raise refusal_for(status_code)(str(self.operation), status_code, error, message)
        return envelope

    def data(self) -> JsonObject | list[Any]:
        """The `data` of a success."""
        return data_of(self.envelope())


def _error_text(error: Exception) -> str:
    """The failure in words, without the library's own text if that may quote the request."""
    kind = type(error).__name__
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return f"no whole answer in time ({kind})"
    if isinstance(error, (*_UNSENT, OSError)):
        return f"no connection ({kind}: {error})"
    return f"the exchange broke off ({kind})"
