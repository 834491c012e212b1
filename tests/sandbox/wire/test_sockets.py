"""Requests that reach the sandbox by a real connection, by a process of its own, or in process through httpx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread

import httpx
import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.command import body_limit
from flask_paycheckout.sandbox.wire.server import Server
from tests.sandbox.actors import Answer, Merchant, Tester
from tests.sandbox.stations import station


@contextmanager
def served(app: Flask) -> Iterator[int]:
    """The app on the sandbox's own server, on a free port; gives the port."""
    server = Server("127.0.0.1", 0)
    thread = Thread(target=server.run, args=(app, partial(body_limit, app)))
    thread.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join()
        server.close()


def post_checkout(port: int) -> Answer:
    return Merchant(station(port)).asks_checkout()


@pytest.mark.parametrize("kind", ["drop", "lose_response"])
def test_the_connection_is_closed_at_once_without_an_answer(sandbox: Flask, tester: Tester, kind: str) -> None:
    tester.orders_fault("POST /v1/checkout", kind)
    with served(sandbox) as port:
        with pytest.raises(ConnectionError):
            post_checkout(port)
        assert post_checkout(port).code == 200


@pytest.mark.parametrize(
    "target", ["/v1/deposit/5", "/v1/deposit/a%20b", "/v1/deposit/5?a=%2Fb&c=", "/v1/deposit/%C3%A9"]
)
def test_the_target_is_found_again_where_the_server_does_not_pass_it_on(
    sandbox: Flask, merchant: Merchant, target: str
) -> None:
    with httpx.Client(transport=httpx.WSGITransport(app=sandbox), base_url="http://127.0.0.1:8790") as http:
        assert http.get(target, headers=merchant.signs("GET", target)).status_code == 404


def test_other_failures_are_an_answer_in_the_envelope() -> None:
    app = create_sandbox()

    @app.get("/v1/broken")
    def broken() -> str:
        raise ZeroDivisionError

    app.logger.disabled = True
    answer = Merchant(app).calls("GET", "/v1/broken")
    assert (answer.http_status, answer.code) == (500, 500)
    assert "ZeroDivision" not in answer.message
