"""Sending of a webhook over HTTP: one POST without redirects and proxies, within a few seconds in total.

The sandbox posts to any address that it is given. Unless allowed otherwise that must be on this machine, so that it
cannot be used to send requests to others.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import closing, suppress
from http.client import HTTP_PORT, HTTPS_PORT, HTTPConnection, HTTPException
from threading import Event, Timer
from typing import Any
from urllib.parse import SplitResult, urlsplit

from flask_paycheckout.sandbox.wire.callers import is_loopback
from flask_paycheckout.sandbox.wire.envelope import FieldError
from flask_paycheckout.sandbox.wire.field_types import FieldType, Schema
from flask_paycheckout.sandbox.world.context import world

TIME_BUDGET = 10.0
"""Seconds that a delivery may take, from connecting to the end of the response's headers."""
_MAX_URL = 2000


class EndpointError(ValueError):
    """A webhook address that is malformed or not allowed."""


def check_endpoint(url: str, *, loopback_only: bool) -> None:
    """Refuse a URL that is not plain HTTP or HTTPS, or, with `loopback_only`, not on this machine.

    :raises EndpointError: says why."""
    parts = _split(url)
    host, is_plain = parts.hostname or "", url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in {"http", "https"} or not _is_name(host) or not is_plain:
        raise EndpointError("is no http or https address")
    if parts.username is not None or len(url) > _MAX_URL:
        raise EndpointError(f"holds credentials, or is longer than {_MAX_URL} characters")
    if loopback_only and not (host == "localhost" or host.endswith(".localhost") or is_loopback(host)):
        raise EndpointError("is not on this machine")


class WebhookUrl(FieldType):
    """The type of fields with an address to which webhooks may be sent."""

    def read(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise FieldError(f"{name} must be a string or null.")
        try:
            check_endpoint(value, loopback_only=world().loopback_webhooks_only)
        except EndpointError as wrong:
            raise FieldError(f"{name} {wrong}.") from None
        return value

    def schema(self) -> Schema:
        return {"type": "string"}


def post_webhook(
    url: str, headers: dict[str, str], body: bytes, *, loopback_only: bool, budget: float = TIME_BUDGET
) -> int:
    """Send a webhook, and return the HTTP status of the answer. :raises OSError: there is none within the budget."""
    parts = _split(url)
    address = _resolve(parts, loopback_only=loopback_only)
    with closing(_Connection(parts, address, budget)) as line:
        line.connect()
        # Limits the whole exchange of messages; the socket's own timeout starts anew with every byte received.
        expired = Event()
        alarm = Timer(budget, _shut, [line.sock, expired])
        alarm.start()
        try:
            line.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
            status = line.getresponse().status
        except TimeoutError:
            # The socket's own limit came first.
            expired.set()
        except (HTTPException, UnicodeError) as broken:
            raise ConnectionError(f"no HTTP answer ({type(broken).__name__})") from None
        finally:
            alarm.cancel()
            if expired.is_set():
                # The alarm closed the connection: it looks like a broken answer, or like the end of truncated headers.
                raise TimeoutError(f"no whole answer within {budget:g} seconds") from None
    return status


class _Connection(HTTPConnection):
    """A connection to an address that was resolved and checked before, since resolving again may give another one."""

    def __init__(self, parts: SplitResult, address: tuple[str, int], budget: float) -> None:
        self.is_secure = parts.scheme == "https"
        self.default_port = HTTPS_PORT if self.is_secure else HTTP_PORT
        self.address = address
        # With its port, or the end of an IPv6 address would be taken for one.
        super().__init__(parts.hostname or "", address[1], timeout=budget)

    def connect(self) -> None:
        line = socket.create_connection(self.address, self.timeout)
        context = ssl.create_default_context() if self.is_secure else None
        self.sock = line if context is None else context.wrap_socket(line, server_hostname=self.host)


def _shut(line: socket.socket, expired: Event) -> None:
    expired.set()
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _resolve(parts: SplitResult, *, loopback_only: bool) -> tuple[str, int]:
    port = parts.port or (HTTPS_PORT if parts.scheme == "https" else HTTP_PORT)
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise ConnectionError(f"{parts.hostname!r} cannot be looked up") from None
    addresses = [str(info[4][0]) for info in found]
    allowed = [address for address in addresses if not loopback_only or is_loopback(address)]
    if not allowed:
        raise ConnectionRefusedError(f"{parts.hostname} is not this machine")
    # IPv4 first, because development servers seldom listen on ::1.
    return min(allowed, key=lambda address: ":" in address), port


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise EndpointError("is no http or https address") from None
    return parts


def _is_name(host: str) -> bool:
    """Whether a host name can be resolved: none of its labels is empty or too long."""
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False
