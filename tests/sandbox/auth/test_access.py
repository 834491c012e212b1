"""The signature: the contract's vectors, and everything that is not accepted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
        pytest.param(
            "POST",
            "/v1/checkout",
            b'{"inputCurrency":"USD","inputAmount":12.5}',
            "2b2536039fa597360711922f5fed0cf0778faff9151ec857dc85948c004882bb",
            id="with-body",
        ),
        pytest.param(
            "GET",
            "/v1/recipient?limit=10&page=2",
            b"",
            "65698f26ea4dcc5a6cee5f53b50240d1be6aa24671d3ee0c0e32f2ba7ab5b96a",
            id="with-query",
        ),
    ],
)
def test_the_contracts_vectors_hold(method: str, target: str, body: bytes, expected: str) -> None:
    assert sign(CLIENT_SECRET, string_to_sign(method, target, "1767225600", body)) == expected


def test_the_query_is_part_of_what_is_signed(merchant: Merchant) -> None:
    now = machine_seconds()
    without_query = signature("GET", READ, now, b"")
    assert merchant.calls("GET", f"{READ}?a=%20b").code == 404
    assert merchant.calls("GET", f"{READ}?a=%20b", timestamp=now, signed_by=without_query).code == 401


@pytest.mark.rule("A signature of something else, of somebody else or without its headers is refused.")
@pytest.mark.parametrize(
    "signed_by",
    [
        pytest.param("0" * 64, id="other-digest"),
        pytest.param("é", id="not-ascii"),
        pytest.param(" ", id="empty"),
    ],
)
def test_a_wrong_signature_is_refused(merchant: Merchant, signed_by: str) -> None:
    refused = merchant.calls("GET", READ, signed_by=signed_by)
    assert (refused.code, refused.body["error"]) == (401, "Unauthorized")


def test_a_changed_body_is_refused(merchant: Merchant) -> None:
    now = machine_seconds()
    signed = signature("POST", "/v1/checkout", now, b'{"inputCurrency":"USD","inputAmount":1250}')
    sent = b'{"inputCurrency":"USD","inputAmount":12.5}'
    assert merchant.calls("POST", "/v1/checkout", sent, timestamp=now, signed_by=signed).code == 401


def test_wrong_secret_and_unknown_client_get_the_same_answer(sandbox: Flask) -> None:
    wrong = Merchant(sandbox, secret="guessed").reads_deposit("x")
    stranger = Merchant(sandbox, client_id="nobody").reads_deposit("x")
    assert wrong.code == 401
    assert wrong.body == stranger.body


@pytest.mark.rule("How far a timestamp may be off is open; by default five minutes.")
@pytest.mark.parametrize(
    ("away", "code"),
    [
        pytest.param(timedelta(), 404, id="now"),
        pytest.param(timedelta(seconds=-290), 404, id="a-little-old"),
        pytest.param(timedelta(seconds=290), 404, id="a-little-early"),
        pytest.param(timedelta(seconds=-310), 401, id="too-old"),
        pytest.param(timedelta(seconds=310), 401, id="too-early"),
    ],
)
def test_a_timestamp_may_be_five_minutes_away(merchant: Merchant, away: timedelta, code: int) -> None:
    stamp = str(int((datetime.now(UTC) + away).timestamp()))
    assert merchant.calls("GET", READ, timestamp=stamp).code == code


@pytest.mark.parametrize("stamp", ["", "now", "1.5", "-5", "٣", "9" * 400])
def test_a_timestamp_must_be_unix_seconds(sandbox: Flask, stamp: str) -> None:
    refused = sandbox.test_client().get(
        READ,
        headers={
            "X-Client-ID": "sandbox-client",
            "X-Timestamp": stamp.encode().decode("latin-1"),
            "X-Signature": signature("GET", READ, stamp.encode().decode("latin-1"), b""),
        },
    )
    assert refused.status_code == 401


def test_both_the_machines_and_the_virtual_time_are_accepted(merchant: Merchant, tester: Tester) -> None:
    tester.advances(hours=5)
    moved = str(int((datetime.now(UTC) + timedelta(hours=5)).timestamp()))
    assert merchant.calls("GET", READ).code == 404
    assert merchant.calls("GET", READ, timestamp=moved).code == 404
    between = str(int((datetime.now(UTC) + timedelta(hours=2)).timestamp()))
    assert merchant.calls("GET", READ, timestamp=between).code == 401


def test_the_rejected_string_is_kept_for_the_developer(sandbox: Flask, tester: Tester) -> None:
    Merchant(sandbox, secret="guessed").calls("GET", f"{READ}?a=1", timestamp="1767225600")
    assert tester.requests()[0]["signedString"].startswith(f"GET\n{READ}?a=1\n1767225600\n")


def test_an_accepted_string_is_not_kept(merchant: Merchant, tester: Tester) -> None:
    merchant.reads_deposit("x")
    assert tester.requests()[0]["signedString"] is None


def test_unknown_signature_off_asks_for_none(make_sandbox: MakeSandbox) -> None:
    assert make_sandbox(signature="off").test_client().get(READ).status_code == 404


def test_unknown_timestamp_window(make_sandbox: MakeSandbox) -> None:
    old = str(int(machine_seconds()) - 120)
    assert Merchant(make_sandbox(timestamp_window="60")).calls("GET", READ, timestamp=old).code == 401
    assert Merchant(make_sandbox(timestamp_window="900")).calls("GET", READ, timestamp=old).code == 404
    assert Merchant(make_sandbox(timestamp_window="off")).calls("GET", READ, timestamp="1").code == 404


def test_unknown_signature_error(make_sandbox: MakeSandbox) -> None:
    assert Merchant(make_sandbox(signature_error="403"), secret="guessed").reads_deposit("x").code == 403
