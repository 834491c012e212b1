"""Two ways to wait: blocking and asynchronous clients run the same coroutines.

Every call is written once, as a coroutine. `Blocking` gives it operations that never suspend, and runs it to its end
in the caller's thread, without an event loop; `Awaited` passes it to the caller's `asyncio` loop.

Both wait between the attempts of a call, within one timeout, with full jitter: the wait before attempt n+1 is uniformly
distributed from zero to 0.2 s * 2**n, at most 2 s. A `Retry-After` is respected if it fits into the timeout; otherwise
the error is raised at once, and has its value.
"""

from __future__ import annotations

import logging
import random
import re
import socket
import ssl
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, TypedDict, TypeVar, cast

import msgspec

from flask_paycheckout.client.errors import PaymentsError, RateLimited, ServiceFault, TransportFailed
from flask_paycheckout.client.transport import CONNECTED, LIMITS, Body, NoCookies, given_transport, httpx, pool_limits
from flask_paycheckout.per_process import PerProcess

R = TypeVar("R")

_log = logging.getLogger("flask_paycheckout.client")

_FIRST_WAIT = 0.2
_LONGEST_WAIT = 2.0
# In seconds. With less time, another attempt would only replace the known failure by a timeout.
SHORTEST_ATTEMPT = 0.05
_LONGEST_HEADER = 40
_SECONDS = re.compile("[0-9]{1,40}")
_WORTH_REPEATING = (TransportFailed, ServiceFault, RateLimited)

_MOST_KEPT = 100
_PART = 65536


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
        """The result of a blocking function, which runs in this thread."""
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


class Connections(httpx.BaseTransport):
    """Sends requests, and reads each response completely, within the request's `Limits`.

    Safe for any number of threads, on both sides of a fork. Proxies, credentials and certificates of the environment
    are not used.

    :param given: the caller's own transport, which the caller closes.
    """

    def __init__(self, url: httpx.URL, given: httpx.BaseTransport | None) -> None:
        # Sockets must not be shared across a fork.
        self._pools = PerProcess(lambda: _Pools(url))
        self._given = given_transport(given, "handle_request")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, and return the response with its whole body.

        :raises RefusedResponse: the response is a redirect, or its body is encoded, too large or too late.
        """
        response = (self._given or self._pools()).handle_request(request)
        stream = response.stream
        assert isinstance(stream, httpx.SyncByteStream)  # noqa: S101 - a transport of httpx.Client gives no other
        try:
            body = Body(response, request.extensions[LIMITS])
            for chunk in stream:
                body.add(chunk)
        finally:
            stream.close()
        return body.whole()

    def close(self) -> None:
        """Close the connections of this process."""
        if self._given is None:
            self._pools().close()


# Each thread's `Limits` of its current request, and whether it has written since its last read.
_exchange = threading.local()


class _Pools(httpx.BaseTransport):
    """The connections that one process opened: kept connections, and connections for one request."""

    def __init__(self, url: httpx.URL) -> None:
        secure = url.scheme == "https"
        # Loading the certificates is slow, and plain HTTP needs none.
        verify = httpx.create_ssl_context(trust_env=False) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._kept, self._fresh = (
            httpx.HTTPTransport(verify=verify, trust_env=False, limits=pool_limits(most)) for most in (_MOST_KEPT, 0)
        )
        # Each address, tried in turn, and the TLS handshake get an equal share of the time for connecting.
        self._shares = _addresses(url) + secure

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request over a kept connection or a new one."""
        limits = request.extensions[LIMITS]
        timeout = {**request.extensions["timeout"], "connect": limits.left() / self._shares}
        request.extensions = {**request.extensions, "timeout": timeout, "trace": _bind}
        _exchange.limits, _exchange.is_unanswered = limits, False
        # A request that must not be retried gets a new connection: on a kept one, bytes left over from the previous
        # response could be mistaken for its response.
        response = (self._kept if limits.repeatable else self._fresh).handle_request(request)
        if _exchange.is_unanswered:
            # This response arrived before its request. Closing it unread closes its connection.
            response.close()
            response = self._fresh.handle_request(request)
        return response

    def close(self) -> None:
        """Close all connections."""
        self._kept.close()
        self._fresh.close()


def _addresses(url: httpx.URL) -> int:
    """The number of addresses of the service's host."""
    try:
        return len(socket.getaddrinfo(url.host, url.port or url.scheme, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return 1


def _bind(event: str, info: dict[str, Any]) -> None:
    """Limit each wait on a new stream to the time that the current call has left.

    httpx limits each wait separately, so a server that sends single bytes slowly could prolong a call forever.
    """
    if event not in CONNECTED:
        return
    stream = info["return_value"]
    read, write = stream.read, stream.write

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        _exchange.is_unanswered = False
        # Check the deadline here too, because data that arrives without a pause never makes a read wait.
        if time.monotonic() > _exchange.limits.until:
            raise TimeoutError
        return bytes(read(max_bytes, _exchange.limits.left()))

    def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
        _exchange.is_unanswered = True
        # Write in parts: if the service reads slowly, each part waits, but never longer than the time left.
        for start in range(0, len(buffer), _PART):
            write(buffer[start : start + _PART], _exchange.limits.left())

    stream.read, stream.write = read_in_time, write_in_time


class CallOptions(TypedDict, total=False):
    """Limits of one call that replace the client's; `iterate` and `find` apply them to the call of each page.

    :ivar timeout: the total seconds that the call may take, including retries and waits.
    :ivar retries: the maximum number of retries.
    """

    timeout: float | None
    retries: int | None


class Pace(msgspec.Struct, frozen=True):
    """The sources of time and randomness, which tests replace.

    :ivar wall: returns Unix time in seconds.
    :ivar elapsed: returns monotonic time in seconds.
    :ivar sleep: waits for a number of seconds.
    :ivar chance: returns a random number from 0 up to 1.
    """

    wall: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


class Retries(msgspec.Struct, frozen=True):
    """The number of retries and the timeout of one call.

    :ivar count: the number of attempts after the first.
    :ivar budget: the seconds for the whole call, including waits.
    """

    count: int
    budget: float
    pace: Pace

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count < 0:
            kind = ValueError if type(self.count) is int else TypeError
            raise kind(f"retries must be a whole number from 0 on, not {self.count!r}")
        if isinstance(self.budget, bool) or not isinstance(self.budget, (int, float)):
            raise TypeError(f"timeout must be a number of seconds, not {type(self.budget).__name__}")
        # Sockets do not accept much longer timeouts.
        if not 0 < self.budget < 10**9:
            raise ValueError(f"timeout must be a positive number of seconds below 10**9, not {self.budget}")

    def limited(self, timeout: float | None = None, retries: int | None = None) -> Retries:
        """These retries with other limits; None keeps the present limit.

        :raises TypeError: a limit is no number.
        :raises ValueError: a limit is out of range.
        """
        count = self.count if retries is None else retries
        return Retries(count, self.budget if timeout is None else timeout, self.pace)

    def wait_after(self, failure: PaymentsError, number: int, until: float, *, repeatable: bool) -> float:
        """The seconds to wait between a failed attempt and the next one; raises `failure` if there is no next attempt.

        :param number: the number of attempts before the failed one.
        :param until: the deadline of the call, by `pace.elapsed`.
        :param repeatable: whether an attempt that may have reached the service may be retried. An attempt that
            certainly did not reach it is always retried.
        """
        unsent = isinstance(failure, TransportFailed) and not failure.request_sent
        if not isinstance(failure, _WORTH_REPEATING) or number >= self.count or not (repeatable or unsent):
            raise failure
        jitter = self.pace.chance() * min(_LONGEST_WAIT, _FIRST_WAIT * 2**number)
        wait: float = max(jitter, failure.retry_after or 0.0)
        if wait + SHORTEST_ATTEMPT > until - self.pace.elapsed():
            raise failure
        _log.debug("%s; attempt %d follows in %.2f s", failure, number + 2, wait)
        return wait


def seconds_to_wait(header: str | None, now: float) -> float | None:
    """The wait that a `Retry-After` header asks for, in seconds from `now` (Unix time)."""
    if header is not None and _SECONDS.fullmatch(header):
        return float(header)
    moment = moment_of(header)
    return None if moment is None else max(0.0, moment - now)


def moment_of(header: str | None) -> float | None:
    """An HTTP date as Unix time; None if the header is no HTTP date."""
    if header is None or len(header) > _LONGEST_HEADER:
        return None
    try:
        moment = parsedate_to_datetime(header)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
