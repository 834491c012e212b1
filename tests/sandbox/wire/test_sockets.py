"""Requests in process through httpx, and failures of the sandbox itself."""

from __future__ import annotations

import httpx
import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import Merchant


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/v1/deposit/5", 404),
        ("/v1/deposit/a%20b", 404),
        ("/v1/deposit/%C3%A9", 404),
        ("/v1/recipient?search=%2Fb&country=x", 200),
    ],
)
def test_the_target_is_found_again_where_the_server_does_not_pass_it_on(
    sandbox: Flask, merchant: Merchant, target: str, status: int
) -> None:
    with httpx.Client(transport=httpx.WSGITransport(app=sandbox), base_url="http://127.0.0.1:8790") as http:
        assert http.get(target, headers=merchant.signs("GET", target)).status_code == status


def test_other_failures_are_an_answer_in_the_envelope() -> None:
    app = create_sandbox()

    @app.get("/v1/broken")
    def broken() -> str:
        raise ZeroDivisionError

    app.logger.disabled = True
    answer = Merchant(app).calls("GET", "/v1/broken")
    assert (answer.http_status, answer.code) == (500, 500)
    assert "ZeroDivision" not in answer.message
