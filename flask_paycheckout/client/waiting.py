"""Two ways to wait: a client that blocks and one that is awaited run the same coroutines.

Every call is written once, as a coroutine. `Blocking` gives it operations that never suspend, and runs it to its end
in the caller's thread, without an event loop; `Awaited` hands it to the caller's `asyncio` loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from typing import Any, TypeVar, cast

from flask_paycheckout.client.awaited import Awaited
from flask_paycheckout.client.connections import Connections
from flask_paycheckout.client.retries import Pace
from flask_paycheckout.client.transport import NoCookies, httpx

R = TypeVar("R")
W = TypeVar("W", bound="Blocking | Awaited")


class _Http(httpx.Client):
    cookies: Any = NoCookies()


class Blocking:
    """Runs calls to their end in the caller's thread."""

    def __init__(self, url: httpx.URL, transport: httpx.BaseTransport | None) -> None:
        self.http = _Http(transport=Connections(url, transport), trust_env=False)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The response to a request, with its whole body."""
        return self.http.send(request)

    async def sleep(self, pace: Pace, seconds: float) -> None:
        """Block the thread."""
        pace.sleep(seconds)

    async def in_thread(self, call: Callable[[], R]) -> R:
        """The result of a function, which may block this thread."""
        return call()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """The result of a coroutine that never suspends."""
        return _result(coroutine)

    def each(self, records: AsyncGenerator[R, None]) -> Iterator[R]:
        """The records of a generator that never suspends."""
        try:
            while True:
                yield _result(anext(records))
        except StopAsyncIteration:
            return
        finally:
            _result(records.aclose())

    async def close(self) -> None:
        """Close the connections."""
        self.http.close()


def _result(awaitable: Awaitable[R]) -> R:
    steps: Generator[Any, None, R] = awaitable.__await__()
    try:
        steps.send(None)
    except StopIteration as done:
        return cast("R", done.value)
    raise RuntimeError("a call of a blocking client waited for an event loop")
