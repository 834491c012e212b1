"""The real sender: one POST to this machine, bounded in time, following nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from flask_paycheckout.sandbox.outgoing.webhook_sender import EndpointError, check_endpoint, make_sender

BODY = b'{"orderId":"5"}'


@contextmanager
def listening(behaves: Callable[[socket.socket, bytes], None]) -> Iterator[int]:
    """One request on a free port is handled by `behaves`."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                asked = b""
                while not asked.endswith(BODY):
                    asked += line.recv(4096)
                behaves(line, asked)

        thread = Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def answered(answer: bytes) -> int:
    """The status that the sender makes of an answer."""
    with listening(lambda line, _: line.sendall(answer)) as port:
        return send(port)


def send(port: int, budget: float = 60) -> int:
    sender = make_sender(loopback_only=True, budget=budget)
    return sender(f"http://127.0.0.1:{port}/hook?a=1", {"Content-Type": "application/json"}, BODY)


def test_it_posts_the_body_and_uses_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    seen: list[bytes] = []

    def answers(line: socket.socket, asked: bytes) -> None:
        seen.append(asked)
        line.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with listening(answers) as port:
        assert send(port) == 204
    assert seen[0].startswith(b"POST /hook?a=1 HTTP/1.1\r\n")


def test_redirects_are_not_followed() -> None:
    assert answered(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n") == 302


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 2"], ids=["nothing", "not-http", "half"])
def test_no_answer_is_an_os_error(answer: bytes) -> None:
    with pytest.raises(OSError, match=r".*"):
        answered(answer)


def test_a_dripping_answer_ends_with_the_time_budget() -> None:
    def drips(line: socket.socket, _: bytes) -> None:
        line.settimeout(0.05)
        with suppress(ConnectionError):
            line.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                line.sendall(b"x")
                with suppress(TimeoutError):
                    if line.recv(4096) == b"":
                        return

    with listening(drips) as port, pytest.raises(OSError, match=r".*"):
        send(port, budget=0.3)


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:99999/", "http://a b/", "http://u:p@127.0.0.1/", "file:///etc/passwd", "//x"),
        *("nonsense", "http://", "http://127.0.0.1/\r\nX: y", "http://[::1"),
    ],
)
def test_what_is_no_plain_http_address_is_refused(url: str) -> None:
    with pytest.raises(EndpointError):
        check_endpoint(url, loopback_only=False)
