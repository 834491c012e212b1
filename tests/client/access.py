"""The headers of a request that say who sent it."""

from __future__ import annotations

import httpx

from flask_paycheckout.client.signing import HmacSigner
from tests.client.wire import ACCESS_TOKEN, CLIENT_ID, CLIENT_SECRET

__all__ = ["access_of"]


def access_of(request: httpx.Request) -> str:
    """`signed`, `bearer` or `open`; a signature must be right for exactly what was sent."""
    authorization = request.headers.get("authorization")
    signature = request.headers.get("x-signature")
    assert authorization is None or signature is None
    if authorization is not None:
        assert authorization == f"Bearer {ACCESS_TOKEN}"
        return "bearer"
    if signature is None:
        assert "x-client-id" not in request.headers
        assert "x-timestamp" not in request.headers
        return "open"
    timestamp = int(request.headers["x-timestamp"])
    expected = HmacSigner(CLIENT_ID, CLIENT_SECRET).sign(
        request.method, request.url.raw_path.decode(), request.content, timestamp
    )
    assert expected == {name: request.headers[name] for name in expected}
    return "signed"
