from __future__ import annotations

import traceback
from typing import Any

import httpx
import pytest

from flask_paycheckout.client import BearerToken, HmacSigner, PaymentsClient, TransportFailed
from flask_paycheckout.client.signing import signed_headers

SECRET = "sandbox-secret-0123456789abcdef"
NOW = 1767225600


@pytest.mark.parametrize(
    ("method", "target", "body", "signature"),
    [
        pytest.param(
            "POST",
            "/v1/checkout",
            b'{"inputCurrency":"USD","inputAmount":12.5}',
            "2b2536039fa597360711922f5fed0cf0778faff9151ec857dc85948c004882bb",
            id="post-with-body",
        ),
        pytest.param(
            "GET",
            "/v1/recipient?limit=10&page=2",
            b"",
            "65698f26ea4dcc5a6cee5f53b50240d1be6aa24671d3ee0c0e32f2ba7ab5b96a",
            id="get-with-query",
        ),
    ],
)
def test_published_vectors(method: str, target: str, body: bytes, signature: str) -> None:
    headers = HmacSigner("sandbox-client", SECRET).sign(method, target, body, NOW)
    assert headers == {"X-Client-ID": "sandbox-client", "X-Timestamp": str(NOW), "X-Signature": signature}


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\n", "a\0b", " a", "a ", "tab\there", "é", "\x7f"])
def test_credentials_that_would_break_a_header_are_refused_unseen(value: str) -> None:
    for make in (lambda: HmacSigner(value, "s"), lambda: BearerToken(value)):
        with pytest.raises(ValueError, match="printable ASCII") as caught:
            make()
        assert caught.value.args[0].startswith(("client_id may hold", "access_token may hold"))


class Crooked:
    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        return self.headers


@pytest.mark.parametrize("headers", [{"X-A": "a\r\nb"}, {"X A": "a"}, {"X-A\r\n": "a"}, {"": "a"}])
def test_a_signer_cannot_break_out_of_its_headers(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="header"):
        signed_headers(Crooked(headers), "GET", "/", b"", NOW)


class Raising:
    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        raise LookupError(SECRET)


@pytest.mark.parametrize(
    ("signer", "message"),
    [
        (Raising(), "the signer raised LookupError at test_signing.py:"),
        (Crooked(None), "the signer gave a NoneType and no headers"),  # type: ignore[arg-type]
        (Crooked({"X-A": 5}), "header X-A must be a string"),  # type: ignore[dict-item]
        (Crooked({"X A": SECRET}), "'X A', which is no header name"),
        (Crooked({"X-A": f"{SECRET}\n"}), "header X-A may hold printable ASCII only"),
    ],
    ids=["raises", "None", "a number", "a name", "a line break"],
)
def test_a_signer_that_fails_ends_a_call_of_which_nothing_was_sent(signer: Any, message: str) -> None:
    """It counts like a lost connection, so that a payout is sent later, and an alarm names the reason."""
    sent: list[httpx.Request] = []

    def answers(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(500)

    transport = httpx.MockTransport(answers)
    client = PaymentsClient("https://api.example.com", signer=signer, transport=transport, retries=0)
    with pytest.raises(TransportFailed) as caught:
        client.deposits.get("chk-1")
    error = caught.value
    assert (error.carried_out, error.retryable, error.request_sent, sent) == ("no", True, False, [])
    assert message in str(error)
    assert SECRET not in "".join(traceback.format_exception(error))
