"""The webhook's door without a server: one WSGI request as bytes, and the whole answer."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass
from typing import Any

from flask import Flask

from tests.hostile.posts import Post

__all__ = ["PATH", "Answer", "knock"]

PATH = "/paycheckout/webhook"
_NONCE = re.compile(r"nonce-[A-Za-z0-9_-]{22}'")


@dataclass(frozen=True)
class Answer:
    """A whole answer; the nonce in its policy, which is new each time, is written as NONCE."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def knock(app: Flask, post: Post, path: str = PATH) -> Answer:
    """Send one post."""
    answered: list[tuple[str, list[tuple[str, str]]]] = []
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "SERVER_NAME": "shop.example",
        "SERVER_PORT": "443",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "192.0.2.7",
        "HTTP_HOST": "shop.example",
        "CONTENT_TYPE": "application/json",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https",
        "wsgi.input": io.BytesIO(post.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    length = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True} if post.chunked else {}
    environ |= length or {"CONTENT_LENGTH": str(len(post.body))}
    given = app.wsgi_app(environ | post.headers, lambda status, headers, exc=None: answered.append((status, headers)))  # type: ignore[arg-type]
    body = b"".join(given)
    given.close()  # type: ignore[attr-defined]  # werkzeug's iterables have it
    ((status, headers),) = answered
    told = tuple((name, _NONCE.sub("NONCE'", value)) for name, value in headers)
    return Answer(int(status.split()[0]), told, body)
