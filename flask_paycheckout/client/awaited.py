"""Calls that an `asyncio` loop awaits."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from flask_paycheckout.client.transport import CONNECTED, LIMITS, Body, NoCookies, given_transport, httpx, pool_limits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from flask_paycheckout.client.waiting import Blocking, Pace

R = TypeVar("R")
W = TypeVar("W", bound="Blocking | Awaited")
"""How a client waits."""

# Slightly more time than httpx has for connecting, so that a failed connection attempt is reported as such.
_GRACE = 0.05


class _Http(httpx.AsyncClient):
    cookies: Any = NoCookies()


class Awaited:
    """Hands calls to the caller's event loop; its connections belong to that loop."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None) -> None:
        self.http = _Http(transport=_Connections(transport), trust_env=False)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The response to a request, with its whole body.

        :raises TimeoutError: the call's deadline has passed.
        """
        async with asyncio.timeout(request.extensions[LIMITS].left() + _GRACE):
            return await self.http.send(request)

    async def sleep(self, pace: Pace, seconds: float) -> None:
        """Suspend the call; the loop continues."""
        await asyncio.sleep(seconds)

    async def in_thread(self, call: Callable[[], R]) -> R:
        """The result of a blocking function, which runs in a separate thread."""
        return await asyncio.to_thread(call)

    def run(self, coroutine: Coroutine[Any, Any, R]) -> Coroutine[Any, Any, R]:
        """The coroutine, for the caller to await."""
        return coroutine

    def each(self, records: AsyncGenerator[R, None]) -> AsyncGenerator[R, None]:
        """The generator, for the caller to iterate over."""
        return records

    async def close(self) -> None:
        """Close the connections."""
        await self.http.aclose()


class _Connections(httpx.AsyncBaseTransport):
    """Sends requests, and reads each response completely, within the request's `Limits`.

    Kept connections are used for requests that may be retried. Each other request gets a new connection: on a kept
    connection, bytes left over from the previous response could be mistaken for its response.

    :param given: the caller's own transport, which the caller closes.
    """

    def __init__(self, given: httpx.AsyncBaseTransport | None) -> None:
        self._given = given_transport(given, "handle_async_request")
        # The event loop of the first request, to which the connections belong.
        self._loop: asyncio.AbstractEventLoop | None = None
        if given is None:
            verify = httpx.create_ssl_context(trust_env=False)
            self._kept, self._fresh = (
                httpx.AsyncHTTPTransport(verify=verify, limits=pool_limits(most)) for most in (None, 0)
            )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, and return the response with its whole body."""
        limits = request.extensions[LIMITS]
        response = await (self._given.handle_async_request if self._given else self._send)(request)
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 - a transport of httpx.AsyncClient gives no other
        try:
            body = Body(response, limits)
            async for chunk in stream:
                body.add(chunk)
        finally:
            await stream.aclose()
        return body.whole()

    async def _send(self, request: httpx.Request) -> httpx.Response:
        """Send the request over kept connections or a new one.

        :raises httpx.ConnectError: the connections belong to another event loop.
        """
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise httpx.ConnectError("this client belongs to another event loop: make one for each loop")
        request.extensions = {**request.extensions, "trace": _watch}
        transport = self._kept if request.extensions[LIMITS].repeatable else self._fresh
        response = await transport.handle_async_request(request)
        # A mock that replaces httpx has no stream.
        if getattr(response.extensions.get("network_stream"), "is_unanswered", False):
            # This response arrived before its request. Closing it unread closes its connection.
            await response.aclose()
            response = await self._fresh.handle_async_request(request)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        if self._given is None:
            # Connections of a closed event loop are useless, and cannot be closed.
            with suppress(RuntimeError):
                await self._kept.aclose()
            await self._fresh.aclose()


async def _watch(event: str, info: dict[str, Any]) -> None:
    """Make each new stream record whether it was written to and not read from since."""
    if event not in CONNECTED:
        return
    stream = info["return_value"]
    read, write = stream.read, stream.write

    async def noted_read(max_bytes: int, timeout: float | None = None) -> bytes:
        stream.is_unanswered = False
        return bytes(await read(max_bytes, timeout))

    async def noted_write(buffer: bytes, timeout: float | None = None) -> None:
        stream.is_unanswered = True
        await write(buffer, timeout)

    stream.read, stream.write = noted_read, noted_write
