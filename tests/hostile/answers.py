"""Answers that no correct service gives: for each, the server's handling of the connection after a request.

If the fault is in the framing or the head, the body is valid for both a paid deposit and a new checkout: a reader that
overlooks the fault would accept it.
"""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from typing import Any

from tests.client.wire import Answer, RawServer, drips, hangs_up_after, http, says, success

CHECKOUT = "chk-1"
SAID: dict[str, Any] = {
    "depositId": CHECKOUT,
    "status": "completed",
    "inputCurrency": "USD",
    "inputAmount": 12.5,
    "outputCurrency": "USD",
    "outputAmount": 12.13,
    "id": "chk-2",
    "url": "https://pay.example/checkout/chk-2",
}
BODY = success(SAID)
WHOLE = http(BODY)

_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_BLOCK = 65536
GIGABYTE = 1_000_000_000


def pours(start: bytes, drop: bytes) -> Answer:
    """Send the start once, then the drop for ever, as fast as the other side reads it."""
    wave = drop * (_BLOCK // len(drop) or 1)

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        connection.sendall(start)
        while not server.closing.is_set():
            connection.sendall(wave)

    return answer


DRIPPING: dict[str, Answer] = {
    "silence": drips(b"", b""),
    "status-line": drips(b"HTTP/1.1 200 ", b"O"),
    "one-header": drips(_OK + b"X: ", b"a"),
    "body": drips(_OK + b"Content-Length: 100000\r\n\r\n" + BODY, b" "),
    "until-close": drips(_OK + b"\r\n" + BODY, b" "),
}

# Endless answers without pauses.
FLOODS: dict[str, Answer] = {
    "until-close": pours(_OK + b"\r\n" + BODY, b" "),
    "deep": pours(_OK + b'\r\n{"statusCode":200,"data":', b"["),
    "trailers": pours(_CHUNKED + b"%x\r\n%b\r\n0\r\n" % (len(BODY), BODY), b"X: a\r\n"),
    "one-header": pours(_OK + b"X: ", b"a"),
    "status-line": pours(b"HTTP/1.1 200 ", b"O"),
    "interim": pours(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


def bomb() -> bytes:
    """A body below every size limit that unpacks to a gigabyte: one compressed block, repeated."""
    zeros = bytes(16 * 1024 * 1024)
    times = GIGABYTE // len(zeros) + 1
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    # The checksum at its end is wrong: a reader that checks it has unpacked everything before.
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + block * times + b"\x03\x00" + bytes(8)


def _head(*headers: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers]).encode() + b"\r\n\r\n"


def _framed(*headers: str) -> Answer:
    """The valid body below a head with a fault."""
    return hangs_up_after(_head(*headers) + BODY)


def _plain(body: bytes) -> Answer:
    """A body with a fault below a valid head."""
    return says(http(body))


_LENGTH = f"Content-Length: {len(BODY)}"
_CHUNK = b"%x\r\n%b\r\n" % (len(BODY), BODY)

# Really compressed, so that a reader that unpacks it finds the valid body.
_PACKED = gzip.compress(BODY)
_ENCODED = {
    f"encoded-{name}": says(http(_PACKED, "200 OK", f"Content-Encoding: {name}")) for name in ("gzip", "identity, gzip")
} | {"encoded-twice": _framed(_LENGTH, "Content-Encoding: identity", "Content-Encoding: gzip")}

_LENGTHS = {
    "length-too-long": _framed(f"Content-Length: {len(BODY) + 1}"),
    "length-too-short": _framed(f"Content-Length: {len(BODY) - 1}"),
    "length-huge": says(_head(f"Content-Length: {10**12}") + BODY),
    "lengths-differ": _framed(_LENGTH, f"Content-Length: {len(BODY) + 1}"),
}

_CHUNKS = {
    "chunk-longer-than-told": hangs_up_after(_CHUNKED + b"1\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "chunk-without-an-end": hangs_up_after(_CHUNKED + _CHUNK),
    "chunked-and-gzip": hangs_up_after(_head("Transfer-Encoding: gzip, chunked") + _CHUNK + b"0\r\n\r\n"),
}

_HEADS = {
    "nothing": hangs_up_after(b""),
    "header-with-nul": _framed(_LENGTH, "X: a\0b"),
    "header-of-200-kilobytes": _framed(_LENGTH, "X: " + "a" * 200_000),
    "switching-protocols": says(_head("Upgrade: x", "Connection: upgrade", status="101 Switching Protocols") + BODY),
    "no-content": says(_head(status="204 No Content") + BODY),
}

# `client/test_envelope.py` tests every kind of these without a socket.
_BODIES = {
    "deep-lists": _plain(b"[" * 100_000 + b"]" * 100_000),
    "two-data": _plain(BODY[:-1] + b',"data":' + json.dumps(SAID).encode() + b"}"),
}

AT_ONCE: dict[str, Answer] = _ENCODED | _LENGTHS | _CHUNKS | _HEADS | _BODIES

_SAMPLES = "encoded-gzip length-too-short chunk-without-an-end switching-protocols deep-lists two-data"
#: One answer of each kind.
SAMPLES: dict[str, Answer] = {
    "dripping": DRIPPING["body"],
    "flood": FLOODS["deep"],
    **{name: AT_ONCE[name] for name in _SAMPLES.split()},
}
