"""The request log: filters, one request in full, and the explanation of a rejected signature."""

from __future__ import annotations

from html import unescape

from flask import Flask

from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.inspector.developer import Developer


def test_a_rejected_signature_shows_the_exact_string_and_what_to_compare(
    sandbox: Flask, merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    tester.advances(hours=5)
    merchant.calls("GET", "/v1/deposit/5?a=%2F", signed_by="wrong", timestamp="1767225600")
    Merchant(sandbox, client_id="nobody").calls("GET", "/v1/deposit/5", timestamp="today")
    merchant.calls("GET", "/v1/deposit/5", signed_by="wrong")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert f">GET\n/v1/deposit/5?a=%2F\n1767225600\n{empty}</pre>" in developer.opens("/inspector/requests/1")
    hints = {
        1: ("the one of no body at all", "clock; at most 300 are allowed", "The client id is known"),
        2: ("No account has the client id that was sent", "This one is no number of seconds"),
        3: ("seconds away from the clock, which is allowed",),
    }
    for number, words in hints.items():
        seen = developer.reads(f"/inspector/requests/{number}")
        assert [word for word in words if word not in seen] == []


def test_a_json_body_has_a_line_for_each_value_with_its_digits_and_any_other_is_as_it_was_sent(
    merchant: Merchant, developer: Developer
) -> None:
    sent = b'{"inputCurrency":"USD", "inputAmount":5.10}'
    merchant.asks_checkout_raw(sent)
    merchant.asks_checkout_raw(b'{"cut":[')
    page = unescape(developer.opens("/inspector/requests/1"))
    assert '{\n  "inputCurrency": "USD",\n  "inputAmount": 5.10\n}' in page
    assert '{\n  "statusCode": 200,' in page
    assert '{"cut":[' in unescape(developer.opens("/inspector/requests/2"))
