"""Sending of a webhook over HTTP: one POST without redirects and proxies, within a few seconds in total.

The sandbox posts to any address that it is given, within the reach that it was started with: this machine, unless
others share the sandbox, and other machines if that is allowed.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import closing, suppress
from http.client import HTTP_PORT, HTTPS_PORT, HTTPConnection, HTTPException
from threading import Event, Timer
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from flask_paycheckout.sandbox.wire.field_types import checked
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.reach import Reach

TIME_BUDGET = 10.0
"""Seconds that a delivery may take, from connecting to the end of the response's headers."""
_MAX_URL = 2000


MEANING = "an http or https address within the reach of this sandbox's webhooks, which --allow-remote-webhooks widens"


def may_be_called(url: str, reach: Reach) -> bool:
    """Whether webhooks may go to an address: plain HTTP or HTTPS, without credentials, and within reach."""
    try:
        parts = urlsplit(url)
        # A port that is no number, and labels that are empty or too long, raise only when they are read.
        host, _ = parts.hostname or "", parts.port
        is_name = bool(host.encode("idna"))
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _MAX_URL
    is_http = parts.scheme in {"http", "https"} and parts.username is None
    return is_name and is_plain and is_http and reach.allows(host)


WebhookUrl = Annotated[str, checked(MEANING, lambda url: may_be_called(url, world().reach), format="uri")]


def post_webhook(url: str, headers: dict[str, str], body: bytes, reach: Reach, *, budget: float = TIME_BUDGET) -> int:
    """Send a webhook, and return the HTTP status of the answer. :raises OSError: there is none within the budget."""
    parts = urlsplit(url)
    address = _resolve(parts, reach)
    with closing(_Connection(parts, address, budget)) as connection:
        connection.connect()
        # Limits the whole exchange of messages; the socket's own timeout starts anew with every byte received.
        expired = Event()
        alarm = Timer(budget, _shut, [connection.sock, expired])
        alarm.start()
        try:
            connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
            status = connection.getresponse().status
        except TimeoutError:
            # The socket's own timeout came first.
            expired.set()
        except (HTTPException, UnicodeError) as error:
            raise ConnectionError(f"no HTTP answer ({type(error).__name__})") from None
        finally:
            alarm.cancel()
            if expired.is_set():
                # The alarm closed the connection, which looks like a broken answer, or like truncated headers.
                raise TimeoutError(f"no whole answer within {budget:g} seconds") from None
    return status


class _Connection(HTTPConnection):
    """A connection to an address that was resolved and checked before, since resolving again may give another one."""

    def __init__(self, parts: SplitResult, address: tuple[str, int], budget: float) -> None:
        self.is_secure = parts.scheme == "https"
        self.default_port = HTTPS_PORT if self.is_secure else HTTP_PORT
        self.address = address
        # The port is given, because else the end of an IPv6 address would be read as a port.
        super().__init__(parts.hostname or "", address[1], timeout=budget)

    def connect(self) -> None:
        line = socket.create_connection(self.address, self.timeout)
        context = ssl.create_default_context() if self.is_secure else None
        self.sock = line if context is None else context.wrap_socket(line, server_hostname=self.host)


def _shut(line: socket.socket, expired: Event) -> None:
    expired.set()
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _resolve(parts: SplitResult, reach: Reach) -> tuple[str, int]:
    port = parts.port or (HTTPS_PORT if parts.scheme == "https" else HTTP_PORT)
    try:
        results = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise ConnectionError(f"{parts.hostname!r} cannot be looked up") from None
    addresses = [str(info[4][0]) for info in results]
    allowed = [address for address in addresses if reach.allows(address)]
    if not allowed:
        raise ConnectionRefusedError(f"{parts.hostname} is out of reach")
    # IPv4 first, because development servers seldom listen on ::1.
    return min(allowed, key=lambda address: ":" in address), port
