"""A payments service that does as little as one can: every deposit is completed with 12.50 USD, after a fixed wait.

A checkout is whatever was asked for, with an id of its own. Runs in a process of its own, so that what it costs is not
counted as the measured program's.
"""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_DEPOSIT = (
    b'{"statusCode":200,"message":"ok","data":{"depositId":"%s","depositType":"checkout","userId":"u-1",'
    b'"inputCurrency":"USD","inputAmount":12.5,"outputCurrency":"USD","outputAmount":12.13,'
    b'"fee":{"amount":0.37,"percentage":2.9,"currency":"USD"},"status":"completed","activityHistory":[],'
    b'"createdAt":"2026-01-01T12:00:00.000Z","updatedAt":"2026-01-01T12:00:00.000Z"}}'
)
_CHECKOUT = b'{"statusCode":201,"message":"ok","data":{"id":"%(id)s","url":"https://pay.example/checkout/%(id)s"}}'


@contextmanager
def running_stub(latency: float) -> Iterator[str]:
    """The address of such a service, which waits so many seconds before each answer."""
    process = subprocess.Popen([sys.executable, "-m", __name__, str(latency)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


class _Connection(asyncio.Protocol):
    """One client's connection; answers its requests one after the other."""

    numbers = itertools.count(1)

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (request := self._request()) is not None:
            answer = _answer(*request)
            if self._latency:
                asyncio.get_running_loop().call_later(self._latency, self._transport.write, answer)
            else:
                self._transport.write(answer)

    def _request(self) -> tuple[bytes, bytes] | None:
        head, end, rest = self._received.partition(b"\r\n\r\n")
        length = _length(head)
        if not end or len(rest) < length:
            return None
        self._received = rest[length:]
        method, target, _ = head.split(b" ", 2)
        return method, target


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


def _answer(method: bytes, target: bytes) -> bytes:
    name = target.partition(b"?")[0].rsplit(b"/", 1)[1]
    if method == b"POST":
        return _response(_CHECKOUT % {b"id": b"chk-made-%012d" % next(_Connection.numbers)})
    return _response(_DEPOSIT % name)


def _response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def _serve(latency: float) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(latency), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
