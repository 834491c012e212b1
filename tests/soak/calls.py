"""HTTP for the soak's own actors: one connection per call, with limits and without retries."""

from __future__ import annotations

from typing import Any

import requests

from tests.soak.processes import Sandbox

#: Seconds that one call may take.
TIMEOUT = 40.0
#: The connection was refused, broken, or silent for too long.
NoAnswer = requests.RequestException


def call(method: str, url: str, body: Any = None, **headers: str) -> requests.Response:
    """Send one request; a text is sent as a form. :raises NoAnswer: no usable answer came back."""
    sent: dict[str, Any] = {"json": body}
    if isinstance(body, str):
        sent, headers = {"data": body}, headers | {"Content-Type": "application/x-www-form-urlencoded"}
    return requests.request(method, url, headers=headers, timeout=TIMEOUT, allow_redirects=False, **sent)


def pull(sandbox: Sandbox, method: str, lever: str, body: Any = None) -> requests.Response:
    """Make one call of the sandbox's control interface, which has no injected faults."""
    return call(method, f"{sandbox.url}/_sandbox/{lever}", body, **{"X-Sandbox-Control": sandbox.token})
