from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.client.wire import Answer, RawServer

Serve = Callable[..., RawServer]


@pytest.fixture
def long_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reuse connections, even if a busy machine takes long for the previous call."""
    monkeypatch.setattr("flask_paycheckout.client.transport.KEPT_FOR", 3600.0)


@pytest.fixture
def serve(long_kept: None) -> Iterator[Serve]:
    """Starts raw socket servers and stops them after the test."""
    servers: list[RawServer] = []

    def start(answer: Answer, *, secure: bool = False) -> RawServer:
        servers.append(RawServer(answer, secure=secure))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
