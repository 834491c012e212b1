from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.client.wire import Answer, RawServer

Serve = Callable[[Answer], RawServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts raw socket servers and stops them after the test."""
    servers: list[RawServer] = []

    def start(answer: Answer) -> RawServer:
        servers.append(RawServer(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
