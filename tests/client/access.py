"""The headers of a request with its credentials."""

from __future__ import annotations

import httpx

from flask_paycheckout.client.signing import HmacSigner
from tests.client.wire import ACCESS_TOKEN, CLIENT_ID, CLIENT_SECRET

__all__ = ["access_of"]


def access_of(request: httpx.Request) -> str:
    """The credentials of a request: `signed`, `bearer` or `open`. A signature must match the request exactly."""
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
