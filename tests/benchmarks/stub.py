"""A payments service that does as little as one can: every deposit is completed with 12.50 USD, after a fixed wait.

Runs in a process of its own, so that what it costs is not counted as the measured program's.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["running_stub"]

_BODY = (
    '{"statusCode":200,"message":"ok","data":{"depositId":"%s","depositType":"checkout","userId":"u-1",'
    '"inputCurrency":"USD","inputAmount":12.5,"outputCurrency":"USD","outputAmount":12.13,'
    '"fee":{"amount":0.37,"percentage":2.9,"currency":"USD"},"status":"completed","activityHistory":[],'
    '"createdAt":"2026-01-01T12:00:00.000Z","updatedAt":"2026-01-01T12:00:00.000Z"}}'
)


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


async def _serve(latency: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                target = head.split(b" ", 2)[1].decode()
                await asyncio.sleep(latency)
                body = _BODY % target.rsplit("/", 1)[1]
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(body), body.encode())
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
