"""The request log: filters, one request in full, and what a rejected signature is compared with."""

from __future__ import annotations

from flask import Flask

from tests.sandbox.actors import CLIENT_ID, Merchant, Tester
from tests.sandbox.inspector.developer import Developer


def test_a_status_that_is_none_is_refused_and_kept_in_the_field(developer: Developer) -> None:
    seen = developer.opens("/inspector/requests?status=9xx%22", 400)
    assert "A status is a number like 401" in seen
    assert 'value="9xx&#34;"' in seen


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
