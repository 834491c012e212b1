"""The request log: filters, one request in full, and what a rejected signature is compared with."""

from __future__ import annotations

import shlex
from html import unescape

import pytest
from flask import Flask

from tests.sandbox.actors import CLIENT_ID, Merchant, Tester, call
from tests.sandbox.inspector.developer import Developer


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("status=401", [2], id="status"),
        pytest.param("status=4xx", [2, 3], id="class"),
        pytest.param("status=4XX", [2, 3], id="class-in-capitals"),
        pytest.param("status=none", [4], id="no-answer"),
        pytest.param("path=/deposit", [2, 3], id="path"),
        pytest.param("path=%25", [], id="percent-is-no-wildcard"),
        pytest.param("path=checkout&status=2xx", [1], id="both"),
        pytest.param("before=3", [1, 2], id="older"),
        pytest.param("before=" + "9" * 40, [1, 2, 3, 4], id="absurd-place"),
        pytest.param("path=%00/deposit", [2, 3], id="nul"),
    ],
)
def test_requests_are_filtered_by_status_and_path(
    merchant: Merchant, tester: Tester, developer: Developer, query: str, expected: list[int]
) -> None:
    merchant.makes_checkout()
    merchant.calls("GET", "/v1/deposit/5", signed_by="wrong")
    merchant.reads_deposit("5")
    tester.orders_fault("POST /v1/checkout", "drop")
    with pytest.raises(ConnectionError):
        merchant.makes_checkout()
    seen = developer.opens(f"/inspector/requests?{query}")
    assert [number for number in range(1, 6) if f'"/inspector/requests/{number}"' in seen] == expected


def test_a_status_that_is_none_is_refused_and_kept_in_the_field(developer: Developer) -> None:
    seen = developer.opens("/inspector/requests?status=9xx%22", 400)
    assert "A status is a number like 401" in seen
    assert 'value="9xx&#34;"' in seen


def test_a_request_shows_both_bodies_and_the_fault(merchant: Merchant, tester: Tester, developer: Developer) -> None:
    tester.orders_fault("POST /v1/checkout", "error", statusCode=503, message="Closed for tea")
    merchant.asks_checkout(inputCurrency="USD", inputAmount=5)
    seen = developer.reads("/inspector/requests/1")
    assert '"inputCurrency":"USD"' in seen
    assert "Closed for tea" in seen
    assert "Fault that struck it error" in seen


def test_a_rejected_signature_shows_the_exact_string_and_what_to_compare(
    sandbox: Flask, merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    tester.advances(hours=5)
    merchant.calls("GET", "/v1/deposit/5?a=%2F", signed_by="wrong", timestamp="1767225600")
    Merchant(sandbox, client_id="nobody").calls("GET", "/v1/deposit/5", timestamp="today")
    merchant.calls("GET", "/v1/deposit/5", signed_by="wrong")
    merchant.makes_checkout()
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert f">GET\n/v1/deposit/5?a=%2F\n1767225600\n{empty}</pre>" in developer.opens("/inspector/requests/1")
    told = {
        1: ("the one of no body at all", "clock; at most 300 are allowed", "The client id is known"),
        2: ("No account has the client id that was sent", "This one is no number of seconds"),
        3: ("seconds away from the clock, which is allowed",),
        4: (CLIENT_ID,),
    }
    for number, words in told.items():
        seen = developer.reads(f"/inspector/requests/{number}")
        assert [word for word in words if word not in seen] == []
    assert "signature" not in seen


def test_a_call_is_shown_as_a_line_of_curl_that_a_shell_takes_apart_as_it_was(
    merchant: Merchant, developer: Developer
) -> None:
    body = b'{"note": "it\'s $HOME `id` @x"}'
    merchant.calls("PATCH", "/v1/deposit/a'b?x=$(id)&y=[1]", body)
    call(merchant.app, "GET", "/v1/recipient", headers={"Authorization": "Bearer sandbox-access-token"})
    shown = [
        unescape(developer.opens(f"/inspector/requests/{one}").partition('a curl line">')[2].partition("</pre>")[0])
        for one in (1, 2)
    ]
    words = shlex.split(shown[0])
    assert words[:3] == ["curl", "--request", "PATCH"]
    assert words[words.index("--data-raw") + 1].encode() == body
    assert words[-1] == "http://127.0.0.1:8790/v1/deposit/a'b?x=$(id)&y=[1]"
    assert f"X-Client-ID: {CLIENT_ID}" in words
    assert shlex.split(shown[1])[3:5] == ["--header", "Authorization: Bearer $ACCESS_TOKEN"]
    assert "sandbox-access-token" not in "".join(shown)
