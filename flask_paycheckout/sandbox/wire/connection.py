"""The sandbox's Flask class, and connections that wait or are dropped on purpose.

`ConnectionDropped` leaves the WSGI application as an exception. As an `OSError` it is a broken connection for
in-process transports, and waitress closes the connection for it. A socket that another server passes on is shut down
first, so that the peer notices at once, however that server handles the exception.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from flask import Flask, Response, request
from werkzeug.routing import Map

from flask_paycheckout.sandbox.world.context import world

if TYPE_CHECKING:
    from flask import Blueprint
    from flask.typing import RouteCallable


class ConnectionDropped(ConnectionError):
    """The sandbox was told to leave this request without an answer."""


class TooManyHeld(Exception):
    """As many calls as faults may delay are delayed already; the server needs its other threads."""


class SandboxApp(Flask):
    """Flask, with URL rules that all sandboxes of a process share, and without an error page for a dropped connection.

    Werkzeug compiles two functions for each rule, which takes half of the time in which a sandbox is made.
    """

    _rules_of_all: ClassVar[Map | None] = None
    _adds_rules = True
    _shares_rules = False

    def register_blueprints(self, blueprints: Iterable[Blueprint]) -> None:
        """Register the sandbox's blueprints, always the same ones; only the first app of a process adds their rules."""
        shared = SandboxApp._rules_of_all
        if shared is not None:
            self.url_map, self._adds_rules = shared, False
        for blueprint in blueprints:
            self.register_blueprint(blueprint)
        self._adds_rules = self._shares_rules = True
        SandboxApp._rules_of_all = self.url_map

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: RouteCallable | None = None,
        provide_automatic_options: bool | None = None,
        **options: Any,
    ) -> None:
        """Add a rule; a rule that is added to a finished sandbox is in this sandbox only."""
        if not self._adds_rules:
            if endpoint is not None and view_func is not None:
                self.view_functions[endpoint] = view_func
            return
        if self._shares_rules:
            rules = [existing.empty() for existing in self.url_map.iter_rules()]
            self.url_map, self._shares_rules = Map(rules, merge_slashes=self.url_map.merge_slashes), False
        super().add_url_rule(rule, endpoint, view_func, provide_automatic_options, **options)

    def handle_exception(self, e: Exception) -> Response:
        if isinstance(e, ConnectionDropped):
            raise e
        return super().handle_exception(e)


@contextmanager
def holding() -> Iterator[None]:
    """A context in which the current call waits on purpose.

    :raises TooManyHeld: on entering, when too many calls wait already.
    """
    slots = world().held
    if not slots.acquire(blocking=False):
        raise TooManyHeld
    try:
        yield
    finally:
        slots.release()


def drop_connection(why: str) -> None:
    """Drop the connection of the current request."""
    for name in ("werkzeug.socket", "gunicorn.socket"):
        peer = request.environ.get(name)
        if isinstance(peer, socket.socket):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
    raise ConnectionDropped(why)
