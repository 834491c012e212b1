"""Two ways to wait: a client that blocks and one that is awaited run the same coroutines.

Every call is written once, as a coroutine. `Blocking` gives it operations that never suspend, and runs it to its end
in the caller's thread, without an event loop; `Awaited` hands it to the caller's `asyncio` loop.
"""

from __future__ import annotations

from functools import wraps
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from flask_paycheckout.client.connections import Connections
from flask_paycheckout.client.transport import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator

    from flask_paycheckout.client.awaited import Awaited
    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.retries import Pace

P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W", bound="Blocking | Awaited")


class Blocking:
    """Runs calls to their end in the caller's thread."""

    def __init__(self, url: httpx.URL, transport: httpx.BaseTransport | None) -> None:
        self.http = httpx.Client(transport=Connections(url, transport), trust_env=False, cookies=no_cookies())

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


def no_cookies() -> CookieJar:
    """A jar that keeps no cookies: no call depends on the one before."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


class Resource(Generic[W]):
    """A part of the service: methods that block on a `PaymentsClient`, and are awaited on an `AsyncPaymentsClient`."""

    def __init__(self, caller: Caller[W]) -> None:
        self._caller = caller


if TYPE_CHECKING:

    class Method(Generic[P, R]):
        """A method whose result an `AsyncPaymentsClient` awaits."""

        @overload
        def __get__(self, instance: Resource[Blocking], owner: object = None) -> Callable[P, R]: ...
        @overload
        def __get__(self, instance: Resource[Awaited], owner: object = None) -> Callable[P, Coroutine[Any, Any, R]]: ...
        def __get__(self, instance: Any, owner: object = None) -> Any: ...

    class Each(Generic[P, R]):
        """A method that gives one record after the other."""

        @overload
        def __get__(self, instance: Resource[Blocking], owner: object = None) -> Callable[P, Iterator[R]]: ...
        @overload
        def __get__(self, instance: Resource[Awaited], owner: object = None) -> Callable[P, AsyncIterator[R]]: ...
        def __get__(self, instance: Any, owner: object = None) -> Any: ...


def method(call: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> Method[P, R]:
    """A method of a resource, written as a coroutine function."""

    @wraps(call)
    def run(self: Resource[Any], *args: Any, **kwargs: Any) -> Any:
        coroutine = call(self, *args, **kwargs)
        # A traceback that shows local variables must not show a password.
        del args, kwargs
        return self._caller.waiting.run(coroutine)

    return cast("Method[P, R]", run)


def each(call: Callable[Concatenate[Any, P], AsyncGenerator[R, None]]) -> Each[P, R]:
    """A method of a resource that returns an asynchronous generator."""

    @wraps(call)
    def walk(self: Resource[Any], *args: Any, **kwargs: Any) -> Any:
        return self._caller.waiting.each(call(self, *args, **kwargs))

    return cast("Each[P, R]", walk)
