"""The webhook's door without a server: one WSGI request as bytes, and the whole answer."""

from __future__ import annotations

import io

from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from tests.hostile.posts import Post
from tests.security.answers import Answer, answer_of

PATH = "/paycheckout/webhook"


def knock(app: Flask, post: Post) -> Answer:
    """Send one post."""
    environ = create_environ(
        PATH,
        "https://shop.example",
        method="POST",
        input_stream=io.BytesIO(post.body),
        content_type="application/json",
    )
    if post.chunked:
        del environ["CONTENT_LENGTH"]
        environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    body, status, headers = run_wsgi_app(app, environ | post.headers, buffered=True)
    return answer_of(int(status.split()[0]), headers, b"".join(body))
