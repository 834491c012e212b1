from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.client.wire import RawServer

if TYPE_CHECKING:
    import socket

Serve = Callable[["Callable[[socket.socket, RawServer], None]"], RawServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts raw socket servers and stops them after the test."""
    servers: list[RawServer] = []

    def start(answer: Callable[[socket.socket, RawServer], None]) -> RawServer:
        servers.append(RawServer(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
