"""Breaking a connection on purpose: the caller gets no answer, whether one was on its way or not.

`ConnectionDropped` leaves the WSGI application as an exception. An in-process transport sees a broken connection,
since it is an `OSError`; on a real socket the peer's end is shut first, so that it notices at once whatever the
server makes of the exception (werkzeug's closes quietly, others may log it).
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
        """The adapter of a request, also where its Host is no name: the page that refuses it has links as well."""
        try:
            return super().create_url_adapter(request)
        except BadRequest:
            return self.url_map.bind("localhost")

    def handle_exception(self, e: Exception) -> Response:
        if isinstance(e, ConnectionDropped):
            raise e
        return super().handle_exception(e)


def drop_connection(why: str) -> None:
    """Give no answer to the current request."""
    for name in ("werkzeug.socket", "gunicorn.socket"):
        peer = request.environ.get(name)
        if isinstance(peer, socket.socket):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
    raise ConnectionDropped(why)
