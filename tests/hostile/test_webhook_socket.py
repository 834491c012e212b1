"""The same door on a real socket: requests that no client library would send, and some hundred that one might."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.chance import seed_of, stream
from tests.conftest import OpenShop
from tests.hostile.door import PATH
from tests.hostile.posts import Post, draw
from tests.hostile.test_webhook import known, tables
from tests.scripted import Shop

DRAWN = 300
HEAD = f"POST {PATH} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n"
HINT = b'{"orderId": "nobody"}'

Address = tuple[str, int]


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *arguments: object) -> None:  # noqa: A002 - its parent's name
        return


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(TESTING=False, PAYCHECKOUT_PUBLIC_URL="https://shop.example")


@pytest.fixture
def server(shop: Shop) -> Iterator[Address]:
    """The shop on a socket."""
    server = make_server("127.0.0.1", 0, shop.app, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield ("127.0.0.1", server.port)
    server.shutdown()
    thread.join()
    server.server_close()


def status_of(address: Address, request: bytes, *, hang_up: bool = False) -> int:
    """The status that a request is answered with; 0 when the connection is closed without an answer.

    :param hang_up: say that nothing more comes, instead of waiting for the answer with the line open.
    """
    with socket.create_connection(address, timeout=20) as line:
        try:
            line.sendall(request)
            if hang_up:
                line.shutdown(socket.SHUT_WR)
            answer = line.recv(65536)
            while answer and b"\r\n" not in answer:
                answer += line.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            # Answered, and closed, before the rest of a body that is too large was taken.
            return 0
    return int(answer.split()[1]) if answer else 0


def chunked(body: bytes, size: int) -> bytes:
    """A body in chunks of this size."""
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def head(*lines: str) -> bytes:
    return (HEAD + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode("latin-1")


CHUNKED = "Transfer-Encoding: chunked"
REQUESTS = [
    pytest.param(head(CHUNKED) + chunked(HINT, 3), {200}, id="in small chunks"),
    pytest.param(head(CHUNKED) + chunked(HINT.ljust(65_537), 1000), {413}, id="in chunks, a byte too large"),
    pytest.param(head(CHUNKED) + chunked(HINT.ljust(3_000_000), 60_000), {413, 0}, id="in chunks, far too large"),
    pytest.param(head(CHUNKED) + b"zz\r\n" + HINT, {400}, id="no chunk size"),
    pytest.param(head(CHUNKED) + b"5\r\n" + HINT, {400}, id="a chunk that ends elsewhere"),
    pytest.param(head() + HINT, {400}, id="no length at all"),
    pytest.param(head("Content-Length: 1000") + HINT, {400}, id="less than announced"),
    pytest.param(head("Content-Length: 70000") + HINT, {413}, id="too much announced"),
    pytest.param(head("Content-Length: 21", CHUNKED) + chunked(HINT, 5), {200, 400}, id="a length and chunks"),
    pytest.param(head("Content-Length: 21", "X-Evil: a\x00b\xff") + HINT, {200, 400}, id="NUL in a header"),
    pytest.param(head("Content-Length: 21", "X-Long: " + "x" * 70_000) + HINT, {400, 431}, id="a long header"),
]


@pytest.mark.parametrize(("request_", "statuses"), REQUESTS)
def test_what_no_client_library_sends(shop: Shop, server: Address, request_: bytes, statuses: set[int]) -> None:
    before = tables(shop)
    assert status_of(server, request_, hang_up=True) in statuses
    assert (tables(shop), shop.service.reads) == (before, [])
    assert status_of(server, head(f"Content-Length: {len(HINT)}") + HINT) == 200, "the shop goes on"


def written(post: Post) -> bytes:
    """A drawn post as its bytes on the line."""
    names = {name: value for name, value in post.headers.items() if name not in ("CONTENT_LENGTH", "QUERY_STRING")}
    lines = [f"{name.removeprefix('HTTP_').replace('_', '-')}: {value}" for name, value in names.items()]
    if post.chunked:
        return head(*lines, CHUNKED) + chunked(post.body, 7000)
    length = post.headers.get("CONTENT_LENGTH", str(len(post.body)))
    return head(*lines, f"Content-Length: {length}") + post.body


def test_drawn_posts_change_nothing(shop: Shop, server: Address, pytestconfig: pytest.Config) -> None:
    seed = seed_of(pytestconfig)
    chance = stream(seed, "socket")
    shop.starts()
    before = tables(shop)
    for _ in range(DRAWN):
        post = draw(chance, known(shop))
        if "\u0661" in post.headers.get("CONTENT_LENGTH", ""):
            # Not a sign that can stand in a header.
            continue
        status = status_of(server, written(post), hang_up=True)
        allowed = {413, 0} if post.status == 413 else {post.status}
        assert status in allowed, f"{status} for {post}, with --randomly-seed={seed}"
    assert (tables(shop), shop.service.reads) == (before, [])
