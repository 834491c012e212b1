"""A WSGI app over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

from werkzeug.serving import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def leaving_no_file_open(app: WSGIApplication) -> WSGIApplication:
    """Wrap the app so that each answer is read to its end before it is sent.

    Werkzeug's server does not close the file of an answer when the browser closes the connection early, as browsers do
    with pictures; the warning about it would fail the running test.
    """

    def whole(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        answer = app(environ, start_response)
        try:
            return list(answer)
        finally:
            if (close := getattr(answer, "close", None)) is not None:
                close()

    return whole


@contextmanager
def served(app: WSGIApplication) -> Iterator[str]:
    """Serve the app on a free port; yields its address."""
    whole = leaving_no_file_open(app)
    server = make_server("127.0.0.1", 0, whole, threaded=True, request_handler=_Quiet)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
