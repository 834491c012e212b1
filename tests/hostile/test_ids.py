"""Any text may stand in an id: the server gets exactly one request, for exactly that resource."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from flask_paycheckout.client import Invalid
from tests.client.conftest import Serve, long_kept, serve
from tests.client.wire import client_of, http, refusal, says

__all__ = ["long_kept", "serve"]

# Ids that are sent: each is one segment, which the service decodes to the same id.
QUOTED = (
    "../admin",
    "..%2fadmin",
    "%252e%252e%252f",
    "/v1/auth/login",
    "//evil.example/x",
    "https://evil.example/",
    "a?status=completed",
    "a#b",
    "a;b=c",
    "a\0b",
    "a\r\nX-Evil: 1\r\n\r\nGET /admin HTTP/1.1",
    "é\u202e\U0001f4b8",
    "{id}",
    "x" * 500,
    "\U0001f4b8" * 500,
)

# Ids that cannot be one segment, or cannot be the service's: nothing is sent.
REFUSED = {
    "empty": "",
    "dot": ".",
    "dots": "..",
    "too-long": "x" * 501,
    "much-too-long": "/" * 1_000_000,
    "half-a-surrogate-pair": "a\ud800b",
}


def test_a_hostile_id_is_one_segment(serve: Serve) -> None:
    server = serve(says(http(refusal(400))))
    with client_of(f"{server.base_url}/pay") as client:
        for hostile_id in QUOTED:
            with pytest.raises(Invalid):
                client.deposits.get(hostile_id)
    for (_, request), hostile_id in zip(server.requests, QUOTED, strict=True):
        line, *headers = request.split(b"\r\n\r\n")[0].decode("ascii").split("\r\n")
        verb, target, version = line.split(" ")
        assert (verb, version) == ("GET", "HTTP/1.1")
        segment = target.removeprefix("/pay/v1/deposit/")
        assert unquote(segment, errors="strict") == hostile_id
        assert not set(segment) & set("/\\?#;&:@")
        assert not any(header.lower().startswith("x-evil") for header in headers)


@pytest.mark.parametrize("id_", REFUSED.values(), ids=REFUSED)
def test_an_id_that_is_no_path_segment_is_never_sent(serve: Serve, id_: str) -> None:
    server = serve(says(http(refusal(400))))
    with client_of(server) as client, pytest.raises(ValueError, match=r"id|encode") as caught:
        client.recipients.delete(id_)
    assert len(str(caught.value)) < 200
    assert server.connections == 0
