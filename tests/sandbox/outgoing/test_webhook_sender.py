"""The real sender: one POST to this machine, with a time limit and without redirects."""

from __future__ import annotations

from contextlib import closing

import pytest

from flask_paycheckout.sandbox.outgoing.webhook_sender import post_webhook
from flask_paycheckout.sandbox.world.reach import HERE
from tests.client.wire import Answer, RawServer, drips, hangs_up_after, http, says

BODY = b'{"orderId":"5"}'


def send(behaves: Answer, budget: float = 60) -> tuple[int, bytes]:
    """The status that the sender reads from an answer, and its request."""
    with closing(RawServer(behaves)) as server:
        url, headers = f"{server.base_url}/hook?a=1", {"Content-Type": "application/json"}
        return post_webhook(url, headers, BODY, HERE, budget=budget), server.requests[0][1]


def test_it_posts_the_body_and_uses_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    status, request = send(says(b"HTTP/1.1 204 No Content\r\n\r\n"))
    assert status == 204
    assert request.startswith(b"POST /hook?a=1 HTTP/1.1\r\n")
    assert request.endswith(BODY)


def test_redirects_are_not_followed() -> None:
    assert send(says(http(b"", "302 Found", "Location: http://127.0.0.1:1/")))[0] == 302


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 2"], ids=["nothing", "not-http", "half"])
def test_no_answer_is_an_os_error(answer: bytes) -> None:
    with pytest.raises(OSError, match=r".*"):
        send(hangs_up_after(answer))


@pytest.mark.parametrize(("start", "drop"), [(b"HTTP/1.1 200 OK\r\nX: ", b"x"), (b"", b"")], ids=["drips", "hangs"])
def test_an_answer_that_does_not_end_is_told_with_the_time_budget(start: bytes, drop: bytes) -> None:
    with pytest.raises(TimeoutError, match=r"within 0\.3 seconds"):
        send(drips(start, drop), budget=0.3)
