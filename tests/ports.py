"""Ports for programs that need a port number before they start.

Another program may take a free port before the started program opens it. These ports therefore come from a range that
the system does not use for automatic ports, of which each worker of a run has its own part.
"""

from __future__ import annotations

import os
import socket
from itertools import count
from random import SystemRandom

__all__ = ["free_port"]

# Below the automatic ports of Linux (from 32768), macOS and Windows (from 49152).
_FIRST, _OF_EACH_WORKER, _WORKERS = 20_000, 600, 20
_NEXT = count(SystemRandom().randrange(_OF_EACH_WORKER))


def free_port() -> int:
    """A free port of 127.0.0.1, which no other program will get before the one that needs it."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    for number, _ in zip(_NEXT, range(_OF_EACH_WORKER), strict=False):
        port = _FIRST + worker * _OF_EACH_WORKER + number % _OF_EACH_WORKER
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("all of this worker's ports are in use")
