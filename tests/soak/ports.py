"""Ports that stay ours while the process that serves them is dead."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


def reserve(port: int = 0) -> socket.socket:
    """A bound socket that does not listen, on any free port unless one is named; several may hold the same one."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    found.bind((HOST, port))
    return found
