"""Dropping a connection on purpose, so that the caller gets no answer.

`ConnectionDropped` leaves the WSGI application as an exception. As an `OSError` it is a broken connection for
in-process transports. A real socket is shut down first, so that the peer notices at once, however the server handles
the exception.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from flask import Flask, Response, request
from werkzeug.exceptions import BadRequest

if TYPE_CHECKING:
    from flask import Request
    from werkzeug.routing import MapAdapter


class ConnectionDropped(ConnectionError):
    """The sandbox was told to leave this request without an answer."""


class SandboxApp(Flask):
    """Flask, except that a dropped connection is not turned into an error page."""

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return an adapter also for an invalid Host header, because the page that refuses it has links."""
        try:
            return super().create_url_adapter(request)
        except BadRequest:
            return self.url_map.bind("localhost")

    def handle_exception(self, e: Exception) -> Response:
        if isinstance(e, ConnectionDropped):
            raise e
        return super().handle_exception(e)


def drop_connection(why: str) -> None:
    """Drop the connection of the current request."""
    for name in ("werkzeug.socket", "gunicorn.socket"):
        peer = request.environ.get(name)
        if isinstance(peer, socket.socket):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
    raise ConnectionDropped(why)
