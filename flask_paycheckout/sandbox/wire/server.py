"""The server of the command: waitress, which refuses a request that says its length twice.

Waitress reads each request as a whole before a thread works on it, so that callers who send slowly occupy a connection
only. A request with both `Content-Length` and `Transfer-Encoding` could be divided elsewhere by a proxy in front.
"""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import BaseWSGIServer, create_server

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

THREADS = 64
"""The number of calls that run at the same time; calls that faults delay leave 16 threads for the others."""
CONNECTIONS = 500
"""The most connections at the same time; further ones wait in the system's queue."""
IDLE_SECONDS = 60
"""Seconds of silence after which a connection is closed."""
_BACKLOG = 256


class _Parser(HTTPRequestParser):
    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        if self.chunked and b"content-length" in header_plus.lower():
            raise ParsingError("The request has two lengths.")


class _Channel(HTTPChannel):
    parser_class = _Parser


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket.

    :param host: a name or an address; an empty one listens on all addresses.
    :param port: 0 takes a free one.
    :raises OSError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_dual = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=is_dual)


def run(app: WSGIApplication, listener: socket.socket, max_body: int, in_memory: int) -> None:
    """Serve until the main thread is interrupted; calls under way get 5 seconds then.

    :param max_body: bytes of the largest body.
    :param in_memory: bytes up to which an arriving body is kept in memory; a larger one goes to a temporary file.
    """
    server = create_server(
        app,
        sockets=[listener],
        threads=THREADS,
        connection_limit=CONNECTIONS,
        channel_timeout=IDLE_SECONDS,
        max_request_body_size=max_body,
        inbuf_overflow=in_memory,
        asyncore_use_poll=True,
        ident="",
        # A connection that is dropped on purpose is an OSError, too.
        log_socket_errors=False,
        # The sandbox decides on its own which proxies it believes.
        clear_untrusted_proxy_headers=False,
    )
    assert isinstance(server, BaseWSGIServer)  # noqa: S101 - of one socket
    server.channel_class = _Channel
    # More calls than threads are no reason for a warning.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server.run()
