"""Ports for programs that are told theirs before they start.

A port that was free a moment ago may be somebody else's when the program asks for it. So these come from a range from
which the system gives none to whoever asks for any, and each worker of a run has a part of it for itself.
"""

from __future__ import annotations

import os
import socket
from itertools import count
from random import SystemRandom

__all__ = ["free_port"]

# Below what Linux (32768), macOS and Windows (49152) give to whoever asks for any port.
_FIRST, _OF_EACH_WORKER, _WORKERS = 20_000, 600, 20
_NEXT = count(SystemRandom().randrange(_OF_EACH_WORKER))


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses, and that nobody else will get before the program that it is for."""
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
