"""The developer's page: it shows what happened, and only its own forms pull its levers."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Receiver, Tester


class Developer:
    """Looks over the sandbox's shoulder in a browser."""

    def __init__(self, app: Flask) -> None:
        self._http = app.test_client()

    def sees(self) -> str:
        return self._http.get("/").text

    def presses(self, path: str, headers: dict[str, str] | None = None, **form: str) -> TestResponse:
        token = re.findall(r'name="token" value="(\w+)"', self.sees())[0]
        return self._http.post(f"/inspector/{path}", data={"token": token} | form, headers=headers)


@pytest.fixture
def developer(sandbox: Flask) -> Developer:
    return Developer(sandbox)


def test_it_shows_checkouts_webhooks_requests_and_faults(
    merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    merchant.calls("GET", "/v1/deposit/5", signed_by="wrong")
    tester.orders_fault("POST /v1/checkout", "error", times=3)
    seen = developer.sees()
    assert f'href="/checkout/{checkout}"' in seen
    assert "Payment received · completed" in seen
    assert "POST /v1/checkout" in seen
    assert "The sandbox signed this string" in seen
    assert "error, 3 more" in seen


def test_what_strangers_sent_is_shown_as_text(merchant: Merchant, developer: Developer) -> None:
    merchant.asks_checkout_raw(b'{"inputCurrency":"<script>alert(1)</script>"}')
    assert "<script>alert" not in developer.sees()


def test_the_control_token_is_not_in_the_page(developer: Developer) -> None:
    assert CONTROL_TOKEN not in developer.sees()


def test_its_levers_work(merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer) -> None:
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    assert developer.presses(f"webhooks/{tester.webhooks()[0]['id']}").status_code == 303
    assert receiver.order_ids == [checkout, checkout]
    developer.presses("clock", seconds="960")
    assert tester.does("GET", "clock")["offsetSeconds"] == 960
    tester.orders_fault("POST /v1/checkout", "error")
    developer.presses("faults")
    assert tester.does("GET", "faults") == []
    developer.presses("reset")
    assert tester.webhooks() == []


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="same-site"),
        pytest.param({"Origin": "https://evil.example"}, id="foreign-origin"),
        pytest.param({"Origin": "null"}, id="null-origin"),
        pytest.param({"Origin": "http://[::1"}, id="broken-origin"),
        pytest.param({"Origin": "http://localhost:1"}, id="other-port"),
    ],
)
def test_a_form_of_another_page_is_refused(tester: Tester, developer: Developer, headers: dict[str, str]) -> None:
    assert developer.presses("clock", headers, seconds="960").status_code == 403
    assert tester.does("GET", "clock")["offsetSeconds"] == 0


@pytest.mark.parametrize("token", ["", "wrong", CONTROL_TOKEN])
def test_a_form_without_the_pages_token_is_refused(sandbox: Flask, token: str) -> None:
    assert sandbox.test_client().post("/inspector/reset", data={"token": token}).status_code == 403


def test_a_form_of_the_same_origin_is_taken(tester: Tester, developer: Developer) -> None:
    headers = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert developer.presses("clock", headers, seconds="960").status_code == 303
    assert tester.does("GET", "clock")["offsetSeconds"] == 960


def test_other_machines_are_refused(sandbox: Flask) -> None:
    assert sandbox.test_client().get("/", environ_overrides={"REMOTE_ADDR": "192.0.2.7"}).status_code == 403


def test_the_clock_moves_only_by_the_offered_steps(tester: Tester, developer: Developer) -> None:
    developer.presses("clock", seconds="12345")
    developer.presses("clock", seconds="x")
    assert tester.does("GET", "clock")["offsetSeconds"] == 0
