from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from flask_paycheckout.client import PaymentsClient, TransportFailed
from tests.client.access import access_of
from tests.client.samples import DEPOSIT
from tests.client.wire import Script, Shop, success


@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://api.example.com",
        "https://",
        "https://a:99999",
        "https://a:0",
        "https://canary:canary@a",
        "https://a?b=c",
        "https://a#b",
        "https://a/b//c",
        "https://a/../c",
        "https://ä.example",
        "https://[::g]",
        f"https://{'a' * 64}.example",
        "https://a b",
    ],
)
def test_a_useless_base_url_is_refused_with_the_rule(base_url: str) -> None:
    with pytest.raises(ValueError, match="base_url must be http:// or https:// with a host") as caught:
        PaymentsClient(base_url)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.example.com", "https://api.example.com/v1/deposit/"),
        ("https://api.example.com:8443/pay/b//", "https://api.example.com:8443/pay/b/v1/deposit/"),
        ("http://[::1]:8790", "http://[::1]:8790/v1/deposit/"),
        ("HTTPS://API.example.com", "https://api.example.com/v1/deposit/"),
    ],
)
def test_calls_go_below_the_base_url_and_are_signed_as_sent(base_url: str, url: str) -> None:
    script = Script(success(DEPOSIT))
    Shop(script, base_url=base_url).deposits.sandbox_update("a?b%2F é", "completed")
    assert str(script.requests[0].url) == f"{url}a%3Fb%252F%20%C3%A9"
    assert access_of(script.requests[0]) == "signed"


def test_every_attempt_is_signed_anew() -> None:
    script = Script(httpx.Response(503, headers={"Retry-After": "7"}, content=b"<html>"), success(DEPOSIT))
    Shop(script).deposits.get("c")
    assert [request.headers["x-timestamp"] for request in script.requests] == ["1767225600", "1767225607"]
    assert script.requests[0].headers["x-signature"] != script.requests[1].headers["x-signature"]


def test_plain_bytes_are_asked_for_and_nothing_is_kept() -> None:
    cookie = httpx.Response(200, headers={"Set-Cookie": "a=b; Path=/"}, content=success(DEPOSIT))
    script = Script(cookie, success(DEPOSIT))
    shop = Shop(script)
    shop.deposits.get("c")
    shop.deposits.get("c")
    for request in script.requests:
        assert request.headers["accept-encoding"] == "identity"
        assert "cookie" not in request.headers


class Canned(httpx.SyncByteStream):
    """An endless body that httpx itself does not read."""

    taken, closed = 0, False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.taken += 1
            yield b"x"

    def close(self) -> None:
        self.closed = True


def test_the_deadline_is_checked_between_chunks_of_any_transport() -> None:
    body = Canned()
    with pytest.raises(TransportFailed, match="in time"):
        Shop(lambda _: httpx.Response(200, stream=body), count=0, budget=1e-9).deposits.get("c")
    assert (body.taken, body.closed) == (1, True)


@pytest.mark.parametrize(
    ("fault", "sent", "words"),
    [
        (httpx.ConnectError("[Errno 111] refused"), False, "no connection (ConnectError: [Errno 111] refused)"),
        (httpx.ReadTimeout("x"), True, "no whole answer in time (ReadTimeout)"),
        (
            httpx.LocalProtocolError("b'canary'"),
            True,
            "the exchange broke off (LocalProtocolError)",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures_are_told_without_what_was_sent(fault: Exception, sent: bool, words: str) -> None:
    with pytest.raises(TransportFailed) as caught:
        Shop(Script(fault), count=0).deposits.get("c")
    assert (caught.value.message, caught.value.request_sent) == (words, sent)
    # The library's own exception is not chained.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
