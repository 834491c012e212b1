"""Random hostile posts to a webhook, each with its required answer for any id."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

MOST = 64 * 1024


@dataclass(frozen=True)
class Post:
    """One request: its body, its headers by their WSGI names, and the HTTP status it must be answered with.

    :ivar chunked: sent without a length; the server passes on a body with its own end.
    """

    kind: str
    body: bytes
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    chunked: bool = False

    def __repr__(self) -> str:
        return f"{self.kind} ({len(self.body)} bytes, {self.headers}): {self.body[:200]!r}"


def _plain(chance: Random, order_id: str) -> Post:
    return Post("plain", _json({"orderId": order_id}), 200)


def _claims(chance: Random, order_id: str) -> Post:
    """Claims in all fields that a shop might wrongly trust."""
    claimed = {"orderId": order_id, "depositId": order_id, "status": "completed", "inputAmount": 12.5, "paid": True}
    return Post("claims", _json({**claimed, "data": claimed, "statusCode": 200}), 200)


def _odd_headers(chance: Random, order_id: str) -> Post:
    odd = {
        "HTTP_ORIGIN": "https://evil.example",
        "HTTP_X_FORWARDED_FOR": "127.0.0.1",
        "HTTP_COOKIE": "session=" + "x" * 3000 + "; a=\x01",
        "HTTP_AUTHORIZATION": "Basic \u00ff\u00fe",
        "HTTP_CONTENT_ENCODING": "deflate, gzip",
        "CONTENT_TYPE": "application/json\u00ff; charset=utf-16",
        "QUERY_STRING": "orderId=" + "%ff" * 500,
    }
    name = chance.choice(list(odd))
    return Post("odd header", _json({"orderId": order_id}), 200, {name: odd[name]})


def _escaped(chance: Random, order_id: str) -> Post:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in order_id if ord(sign) < 0x10000)
    return Post("escaped", b' \n{"\\u006frderId" :\t"' + escaped.encode() + b'" }\r\n', 200)


def _twice(chance: Random, order_id: str) -> Post:
    return Post("named twice", b'{"orderId":"nobody","orderId":' + _json(order_id) + b"}", 200)


def _huge_number(chance: Random, order_id: str) -> Post:
    number = chance.choice([b"1e400", b"-1e-400", b"9" * 50_000, b"1e" + b"9" * 30, b"0." + b"3" * 50_000])
    return Post("huge number", b'{"n":' + number + b',"orderId":' + _json(order_id) + b"}", 200)


def _padded(chance: Random, order_id: str) -> Post:
    """A body of exactly the largest allowed size."""
    body = _json({"orderId": order_id, "x": ""})
    return Post("padded", body[:-2] + b"x" * (MOST - len(body)) + body[-2:], 200)


def _chunked(chance: Random, order_id: str) -> Post:
    return Post("chunked", _json({"orderId": order_id}), 200, chunked=True)


#: Well-formed posts with an id.
CARRIERS: tuple[Callable[[Random, str], Post], ...] = (
    *(_plain, _claims, _odd_headers, _escaped, _twice, _huge_number, _padded, _chunked),
)


def _no_webhook(chance: Random) -> Post:
    """No JSON object, or an object whose id is no string."""
    wrong = [b"", b"null", b"7", b'"chk-1"', b'[{"orderId":"chk-1"}]', b"orderId=chk-1", b"<a/>"]
    ids = [None, 7, 1.5, True, ["chk-1"], {"orderId": "chk-1"}]
    return Post("no webhook", chance.choice([*wrong, *(_json({"orderId": id_}) for id_ in ids)]), 400)


def _other_name(chance: Random) -> Post:
    """A webhook about another object: it names no checkout, so it has no effect."""
    name = chance.choice(["orderid", "OrderId", "order_id", "orderId ", "\u043erderId", "orderId\x00", "__proto__"])
    return Post("other name", _json(chance.choice([{name: "chk-1"}, {}])), 200)


def _deep(chance: Random) -> Post:
    """Nested deeper than some Python versions parse, and for no version a webhook."""
    depth = chance.choice([1_500, 5_000, 20_000, 30_000])
    opening, closing = chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
    deep = (opening * depth + b"1" + closing * depth)[: MOST - 100]
    return Post(
        "deep",
        chance.choice([b"[%b]" % deep, b'{"x":' + deep + b',"orderId":7}', opening * (MOST // len(opening))]),
        400,
    )


def _bad_text(chance: Random) -> Post:
    bad = [b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\\ud800", b"\\udc00\\ud800", b"\n", b"\x00"]
    return Post("bad text", b'{"orderId":"chk' + chance.choice(bad) + b'"}', 400)


def _torn(chance: Random) -> Post:
    body = _json({"orderId": "chk-1", "x": [1, 2, {"y": "z"}]})
    cut = chance.randrange(len(body) - 1)
    return Post("torn", chance.choice([body[:cut], body + b"}", body + b"\x00", b"\xef\xbb\xbf" + body, body * 2]), 400)


def _packed(chance: Random) -> Post:
    """A gigabyte of blanks when unpacked, which must not happen."""
    body = _json({"orderId": "chk-1"}) + b" " * 100_000
    coding, packed = chance.choice([("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))])
    return Post("packed", packed, 400, {"HTTP_CONTENT_ENCODING": coding})


def _too_large(chance: Random) -> Post:
    body = b'{"orderId":"chk-1"}'.ljust(MOST + chance.choice([1, 2, 100_000]))
    return Post("too large", body, 413, chunked=chance.random() < 0.3)


def _odd_length(chance: Random) -> Post:
    """A wrong length: nothing is read, or the sender closes the connection before the end of the body."""
    length, status = chance.choice([("-1", 400), ("1.5", 400), ("\u0661", 400), ("70000", 413), ("9" * 18, 413)])
    return Post("odd length", _json({"orderId": "chk-1"}), status, {"CONTENT_LENGTH": length})


def _short(chance: Random) -> Post:
    body = _json({"orderId": "chk-1"})
    return Post("short", body, 400, {"CONTENT_LENGTH": str(len(body) + chance.choice([1, 1000]))})


#: Posts without an id, or that cannot be parsed.
RUBBISH: tuple[Callable[[Random], Post], ...] = (
    *(_no_webhook, _other_name, _deep, _bad_text, _torn, _packed, _too_large, _odd_length, _short),
)


def _strange_id(chance: Random, known_id: str) -> str:
    strange = [
        *(
            known_id.upper(),
            f"{known_id} ",
            f"{known_id}\x00",
            f"../deposit/{known_id}",
            f"{known_id}?x=1",
            f"{known_id}\u200b",
        ),
        *("", "..", "\r\nX-Evil: 1", "' OR 1=1 --", "x" * 60_000, "\u202e", "o-1"),
    ]
    return chance.choice([*strange, f"unknown-{chance.randrange(10**9)}", f"{chance.getrandbits(96):024x}"])


def draw(chance: Random, known_id: str) -> Post:
    """A post of any kind about no known checkout, although it may contain `known` in a changed form."""
    if chance.random() < 0.5:
        return chance.choice(RUBBISH)(chance)
    post = chance.choice(CARRIERS)(chance, _strange_id(chance, known_id))
    return post if len(post.body) <= MOST else _too_large(chance)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
