"""The client beside the sandbox, in process and over a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from werkzeug.serving import make_server

from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.testing import Sandbox
from tests.journeys.client.stories import ACCESS_TOKEN, CLIENT_ID, CLIENT_SECRET, Desk, token_header

SetUp = Callable[..., Desk]


@contextmanager
def served(app: Flask) -> Iterator[str]:
    """The app on a free port; gives its base URL."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def set_up() -> Iterator[SetUp]:
    """Sets up desks, over a socket when asked, with unknowns as keywords."""
    with ExitStack() as things:

        def make(*, socket: bool = False, **unknowns: str) -> Desk:
            sandbox = Sandbox(unknowns=unknowns)
            things.callback(sandbox.transport.close)
            options: dict[str, Any] = {"transport": sandbox.transport}
            base_url = sandbox.base_url
            if socket:
                base_url, options = things.enter_context(served(sandbox.app)), {}

            def connect(access_token: str | None) -> PaymentsClient:
                client = PaymentsClient(
                    base_url,
                    client_id=CLIENT_ID,
                    client_secret=CLIENT_SECRET,
                    access_token=None if access_token is None else token_header(access_token, unknowns),
                    **options,
                )
                return things.enter_context(client)

            return Desk(sandbox, connect, connect(ACCESS_TOKEN))

        yield make
