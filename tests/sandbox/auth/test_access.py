"""The signature: the contract's vectors, and everything that is not accepted."""

from __future__ import annotations

import json

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.access import sign, string_to_sign
from tests.sandbox.actors import CLIENT_SECRET, Merchant, Tester, machine_seconds, signature
from tests.sandbox.conftest import MakeSandbox

READ = "/v1/deposit/none"


@pytest.mark.rule("How a signature is made is open; client and sandbox each hold a stand-in against fixed vectors.")
@pytest.mark.parametrize(
    ("method", "target", "body", "expected"),
    [
        (
            *("POST", "/v1/checkout", b'{"inputCurrency":"USD","inputAmount":12.5}'),
            "2b2536039fa597360711922f5fed0cf0778faff9151ec857dc85948c004882bb",
        ),
        (
            *("GET", "/v1/recipient?limit=10&page=2", b""),
            "65698f26ea4dcc5a6cee5f53b50240d1be6aa24671d3ee0c0e32f2ba7ab5b96a",
        ),
    ],
)
def test_the_contracts_vectors_hold(method: str, target: str, body: bytes, expected: str) -> None:
    assert sign(CLIENT_SECRET, string_to_sign(method, target, "1767225600", body)) == expected


@pytest.mark.rule("A signature of something else, of somebody else or without its headers is refused.")
@pytest.mark.parametrize(
    "signed_by",
    [
        *("0" * 64, "\u00e9", " "),
        pytest.param(signature("POST", "/v1/checkout", "1767225600", b"{}"), id="other-time-and-body"),
    ],
)
def test_a_wrong_signature_is_refused(merchant: Merchant, signed_by: str) -> None:
    refused = merchant.calls("POST", "/v1/checkout", {}, signed_by=signed_by)
    assert (refused.code, refused.body["error"]) == (401, "Unauthorized")


@pytest.mark.parametrize(("signed", "sent"), [(f"{READ}?a=%20b", f"{READ}?a=%20b"), (READ, f"{READ}?a=%20b")])
def test_the_query_is_part_of_what_is_signed(merchant: Merchant, signed: str, sent: str) -> None:
    now = machine_seconds()
    answer = merchant.calls("GET", sent, timestamp=now, signed_by=signature("GET", signed, now, b""))
    assert answer.code == (404 if signed == sent else 401)


def test_the_body_is_part_of_what_is_signed(merchant: Merchant) -> None:
    now, sent = machine_seconds(), {"inputCurrency": "USD", "inputAmount": 12.5}
    signed = signature("POST", "/v1/checkout", now, json.dumps(sent | {"inputAmount": 1250}).encode())
    assert merchant.calls("POST", "/v1/checkout", sent, timestamp=now, signed_by=signed).code == 401


@pytest.mark.parametrize("stamp", ["", "now", "1.5", "-5", "\u0663", "9" * 400])
def test_a_timestamp_must_be_unix_seconds(merchant: Merchant, stamp: str) -> None:
    assert merchant.calls("GET", READ, timestamp=stamp.encode().decode("latin-1")).code == 401


def test_wrong_secret_and_unknown_client_get_the_same_answer(sandbox: Flask) -> None:
    wrong = Merchant(sandbox, secret="guessed").reads_deposit("x")
    stranger = Merchant(sandbox, client_id="nobody").reads_deposit("x")
    assert wrong.code == 401
    assert wrong.body == stranger.body


@pytest.mark.rule("How far a timestamp may be off is open; by default five minutes.")
@pytest.mark.parametrize(("away", "code"), [(0, 404), (-290, 404), (290, 404), (-310, 401), (310, 401)])
def test_a_timestamp_may_be_five_minutes_away(merchant: Merchant, away: int, code: int) -> None:
    assert merchant.calls("GET", READ, timestamp=str(int(machine_seconds()) + away)).code == code


def test_both_the_machines_and_the_virtual_time_are_accepted(merchant: Merchant, tester: Tester) -> None:
    tester.advances(hours=5)
    for hours, code in ((0, 404), (5, 404), (2, 401)):
        stamp = str(int(machine_seconds()) + hours * 3600)
        assert merchant.calls("GET", READ, timestamp=stamp).code == code


def test_the_rejected_string_is_kept_for_the_developer(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    merchant.reads_deposit("x")
    assert tester.requests()[0]["signedString"] is None
    Merchant(sandbox, secret="guessed").calls("GET", f"{READ}?a=1", timestamp="1767225600")
    assert tester.requests()[0]["signedString"].startswith(f"GET\n{READ}?a=1\n1767225600\n")


def test_unknown_timestamp_window(make_sandbox: MakeSandbox) -> None:
    old = str(int(machine_seconds()) - 120)
    assert Merchant(make_sandbox(timestamp_window="60")).calls("GET", READ, timestamp=old).code == 401
    assert Merchant(make_sandbox(timestamp_window="900")).calls("GET", READ, timestamp=old).code == 404
    assert Merchant(make_sandbox(timestamp_window="off")).calls("GET", READ, timestamp="1").code == 404
