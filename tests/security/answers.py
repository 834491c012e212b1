"""Whole responses, to compare everything that an attacker receives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from werkzeug.test import TestResponse

__all__ = ["Answer", "told"]

_NONCE = re.compile(r"nonce-[\w-]{22}'")


@dataclass(frozen=True)
class Answer:
    """A whole answer; the nonce in its policy, which is new each time, is written as NONCE."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def told(response: TestResponse) -> Answer:
    """A response's status, headers and body."""
    headers = tuple((name, _NONCE.sub("NONCE'", value)) for name, value in response.headers)
    return Answer(response.status_code, headers, response.data)
