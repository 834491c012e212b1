"""Bytes out, bytes in: one request with its signature, one answer, and what is never read of one.

Everything here is bounded. One deadline covers connecting, sending, waiting and every chunk of the answer, so that a
server that drips one byte at a time cannot stretch a call. Bodies are capped while they stream. Redirects are not
followed, cookies not kept, proxies and credentials of the environment not used, and compressed answers refused.

What the deadline does not cover: the operating system's name lookup, and a `transport` of the caller's own while it
blocks inside one read.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from flask_paycheckout.client.errors import TransportFailed
from flask_paycheckout.client.exchange import Carrier, Fault, Received, Request, fault_of
from flask_paycheckout.client.hidden import Hidden, Sealed, hide
from flask_paycheckout.client.http_library import httpx
from flask_paycheckout.client.operations import Access, Operation
from flask_paycheckout.client.retries import moment_of, seconds_to_wait
from flask_paycheckout.client.signing import Signer, signed_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from flask_paycheckout.client.pool import Pool

__all__ = ["Answer", "Transport", "in_process"]

_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "flask-paycheckout"}
# What a request carries besides its credentials; every other header may be one.
_HARMLESS = {
    "accept",
    "accept-encoding",
    "user-agent",
    "host",
    "content-type",
    "content-length",
    "transfer-encoding",
} | {
    "x-client-id",
    "x-timestamp",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    :ivar body: whole.
    :ivar retry_after: the seconds of a `Retry-After`.
    :ivar date: the `Date`, in Unix seconds.
    :ivar media_type: the `Content-Type` in lower case, without its parameters.
    :ivar credentials: what the request proved itself with, to be masked wherever the answer repeats it.
    """

    http_status: int
    body: Sealed
    retry_after: float | None
    date: float | None
    media_type: str
    credentials: tuple[Hidden, ...] = field(repr=False)


class _Refused(Exception):
    """An answer that will not be read, and why."""


class Transport:
    """Sends one request and reads one answer, within a deadline.

    :param base_url: where the service is; a path in it is put before every call's path and is part of what is signed.
    :param signers: who signs calls of each kind of access.
    :param transport: an httpx transport to use instead of the own connection pool; its maker closes it.
    :raises ValueError: the base URL cannot be used; the text names the fault.
    """

    def __init__(
        self, base_url: str, signers: Mapping[Access, Signer], transport: httpx.BaseTransport | None = None
    ) -> None:
        self.base_url = _checked(base_url)
        self._url = httpx.URL(self.base_url)
        self._path = self._url.raw_path.decode("ascii").rstrip("/")
        self._signers = signers
        self._given = None if transport is None else _Given(transport, self.base_url)
        self._pools: dict[int, Pool] = {}
        self._closed = False

    def send(self, operation: Operation, path: str, body: bytes, left: float, wall: float) -> Answer:
        """The answer to one attempt.

        :param path: below the base URL, with its query, already quoted.
        :param body: JSON, or empty for none.
        :param left: seconds until the attempt must have ended.
        :param wall: Unix time in seconds, for the signature.
        :raises TransportFailed: nothing usable came back.
        :raises ValueError: the client has no credentials for this call.
        """
        request = self._request(operation, path, body, wall)
        carrier = self._carrier()
        # The failure is raised outside of the handlers: the library's own exceptions may quote headers.
        try:
            return _exchange(carrier, operation, request, left, wall)
        except _Refused as refused:
            failure = TransportFailed(str(operation), str(refused))
        except Exception as error:
            fault = carrier.fault(error)
            if fault is None:
                raise
            # A transport of the caller's own may quote what it could not send.
            words = hide(fault.words, _credentials(request))
            failure = TransportFailed(str(operation), words, None, fault.sent)
        raise failure

    def close(self) -> None:
        """Closes the connections; a transport that was given stays open."""
        self._closed = True
        self._forget_other_processes()
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()

    def _request(self, operation: Operation, path: str, body: bytes, wall: float) -> Request:
        """The request with its signature over the target that goes on the wire."""
        headers = {"Accept": operation.accept, **_HEADERS}
        if body:
            headers["Content-Type"] = "application/json"
        target = self._path + path
        if operation.access is not Access.OPEN:
            signed = signed_headers(self._signer(operation), operation.method, target, body, int(wall))
            replaced = {name.lower() for name in signed}
            headers = {name: value for name, value in headers.items() if name.lower() not in replaced}
            headers |= {name: Hidden(value) for name, value in signed.items()}
        return Request(operation.method, path, target, headers, body)

    def _signer(self, operation: Operation) -> Signer:
        signer = self._signers.get(operation.access)
        if signer is None:
            raise ValueError(f"{operation} needs {operation.access.value}: give them to the PaymentsClient")
        return signer

    def _carrier(self) -> Carrier:
        """The given transport, or this process's own pool: sockets must not be shared across a fork."""
        if self._closed:
            raise RuntimeError("this PaymentsClient is closed; make another one")
        if self._given is not None:
            return self._given
        pid = os.getpid()
        pool = self._pools.get(pid)
        if pool is None:
            self._forget_other_processes()
            # setdefault and not a lock: a lock may be held by another thread at the moment of a fork.
            pool = self._pools.setdefault(pid, self._new_pool())
        return pool

    def _new_pool(self) -> Pool:
        # Imported late: an application that is being loaded has no use for it yet, and it is a quarter of the client.
        from flask_paycheckout.client.pool import Pool

        url = self._url
        secure = httpx.create_ssl_context(trust_env=False) if url.scheme == "https" else None
        return Pool((url.raw_scheme, url.raw_host, url.port), url.netloc, secure)

    def _forget_other_processes(self) -> None:
        """Drops what a fork copied here from its parent."""
        for pid in list(self._pools):
            if pid != os.getpid() and (pool := self._pools.pop(pid, None)) is not None:
                pool.forget()


def _exchange(carrier: Carrier, operation: Operation, request: Request, left: float, wall: float) -> Answer:
    until = time.monotonic() + left
    received = carrier.send(request, left)
    try:
        retry_after = seconds_to_wait(received.headers.get("retry-after"), wall)
        _check_head(received, operation.max_bytes)
        return Answer(
            received.status,
            Sealed(_read(received.chunks, operation.max_bytes, until)),
            retry_after,
            moment_of(received.headers.get("date")),
            received.headers.get("content-type", "").partition(";")[0].strip().lower(),
            _credentials(request),
        )
    finally:
        received.close()


def _credentials(request: Request) -> tuple[Hidden, ...]:
    """The values of the headers that a signer added; of `Bearer <token>` also the token alone."""
    values = [value for name, value in request.headers.items() if name.lower() not in _HARMLESS]
    return tuple(Hidden(secret) for value in values for secret in {value, value.rpartition(" ")[2]})


def _check_head(received: Received, max_bytes: int) -> None:
    """Refuses what no body can make usable."""
    if 300 <= received.status < 400:
        raise _Refused(f"a redirect (HTTP {received.status}), which is not followed")
    if received.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise _Refused("the body is encoded although plain bytes were asked for")
    length = received.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > max_bytes:
        raise _Refused(f"the body is larger than {max_bytes} bytes")


def _read(chunks: Iterable[bytes], max_bytes: int, until: float) -> bytes:
    """The whole body, as long as it stays small and in time."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise _Refused(f"the body is larger than {max_bytes} bytes")
        if time.monotonic() > until:
            raise _Refused("no whole answer in time")
    return bytes(body)


class _Given:
    """Sends through an httpx transport of the caller's own."""

    def __init__(self, transport: httpx.BaseTransport, base_url: str) -> None:
        self._transport = transport
        self._base_url = base_url

    def send(self, request: Request, left: float) -> Received:
        answer = self._transport.handle_request(
            httpx.Request(
                request.method,
                self._base_url + request.path,
                headers=request.headers,
                content=request.body or None,
                extensions={"timeout": {"connect": left, "read": left, "write": left, "pool": left}},
            )
        )
        return Received(answer.status_code, answer.headers, cast("Iterable[bytes]", answer.stream), answer.close)

    def fault(self, error: Exception) -> Fault | None:
        if not isinstance(error, (httpx.TransportError, OSError)):
            return None
        unsent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        return fault_of(error, late=isinstance(error, httpx.TimeoutException), unsent=unsent)


def _checked(base_url: str) -> str:
    """The base URL without a slash at its end, when calls can be sent below it."""
    if not isinstance(base_url, str):
        raise TypeError(f"base_url must be a string, not {type(base_url).__name__}")
    fault = _fault_of(base_url)
    if fault:
        raise ValueError(f"base_url {fault}; it should look like https://api.example.com")
    return base_url.rstrip("/")


def _fault_of(base_url: str) -> str | None:
    """What is wrong with a base URL; never quotes it, since it may hold a password."""
    if not base_url.isascii() or not base_url.isprintable() or set(base_url) & set(' \\"<>^`{|}'):
        return "holds a character that a URL cannot have"
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
        httpx.URL(base_url).host.encode("idna")
    except (ValueError, httpx.InvalidURL):
        return "is not a URL: its host or port cannot be read"
    if parts.scheme not in ("http", "https"):
        return "must begin with https:// or http://"
    if not host or port == 0:
        return "has no host, or port 0"
    if "@" in parts.netloc:
        return "must not hold a user name or password"
    if "?" in base_url or "#" in base_url:
        return "must not have a query or fragment"
    if any(segment in ("", ".", "..") for segment in parts.path.rstrip("/").split("/")[1:]):
        return "has an empty or dotted path segment"
    return None


class _InProcess(httpx.WSGITransport):
    """Calls a WSGI app in this process; `clock` is the app's, for whoever has to tell its time."""

    clock: Callable[[], datetime]


def in_process(app: Any, clock: Callable[[], datetime]) -> httpx.BaseTransport:
    """A transport to a WSGI app in this process, no socket between; `clock` goes along as its attribute."""
    transport = _InProcess(app=app)
    transport.clock = clock
    return transport
