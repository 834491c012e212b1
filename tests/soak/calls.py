"""HTTP as the soak's own actors use it: one call, one connection, bounded, nothing retried behind their backs."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.soak.processes import Sandbox

#: Seconds that one call may take.
TIMEOUT = 40.0


class NoAnswer(Exception):
    """The connection was refused, broken, or silent for too long."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    location: str
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def call(method: str, url: str, body: Any = None, **headers: str) -> Answer:
    """One request. :raises NoAnswer: nothing usable came back."""
    parts = urlsplit(url)
    sent = None if body is None else json.dumps(body)
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT)
    try:
        line.request(method, parts.path, sent, {"Content-Type": "application/json", **headers})
        answer = line.getresponse()
        return Answer(answer.status, answer.headers.get("Location", ""), answer.read().decode())
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(f"{method} {parts.path}: {type(error).__name__}") from None
    finally:
        line.close()


def pull(sandbox: Sandbox, method: str, lever: str, body: Any = None) -> Answer:
    """One call of the sandbox's control interface, which no fault strikes."""
    return call(method, f"{sandbox.url}/_sandbox/{lever}", body, **{"X-Sandbox-Control": sandbox.token})
