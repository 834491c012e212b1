"""A payments service that does as little as possible: every deposit is completed with 12.50 USD.

Every create returns a checkout with a new id. The service runs in a separate process, so that its cost is not counted
as the measured program's.
"""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_DEPOSIT = (
    b'{"statusCode":200,"message":"ok","data":{"depositId":"%s","depositType":"checkout","userId":"u-1",'
    b'"inputCurrency":"USD","inputAmount":12.5,"outputCurrency":"USD","outputAmount":12.13,'
    b'"fee":{"amount":0.37,"percentage":2.9,"currency":"USD"},"status":"completed","activityHistory":[],'
    b'"createdAt":"2026-01-01T12:00:00.000Z","updatedAt":"2026-01-01T12:00:00.000Z"}}'
)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_CHECKOUT = b'{"statusCode":201,"message":"ok","data":{"id":"%(id)s","url":"https://pay.example/checkout/%(id)s"}}'
_NUMBERS = itertools.count(1)


@contextmanager
def running_stub(seconds: float = 0) -> Iterator[str]:
    """Run the service; yields its address.

    :param seconds: the delay of each answer.
    """
    with subprocess.Popen([sys.executable, "-m", __name__, str(seconds)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


async def _converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a client's requests, one after the other, until it leaves."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            _, separator, rest = head.lower().partition(b"\r\ncontent-length:")
            await reader.readexactly(int(rest.partition(b"\r\n")[0]) if separator else 0)
            method, target, _ = head.split(b" ", 2)
            await asyncio.sleep(float(sys.argv[1]))
            if method == b"POST":
                body = _CHECKOUT % {b"id": b"chk-made-%012d" % next(_NUMBERS)}
            else:
                body = _DEPOSIT % target.partition(b"?")[0].rsplit(b"/", 1)[1]
            writer.write(_HEAD % len(body) + body)
    writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_converse, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
