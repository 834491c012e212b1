"""Whole responses, for comparing everything that an attacker receives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from werkzeug.test import TestResponse

_NONCE = re.compile(r"nonce-[\w-]{22}'")
_IN_BODY = re.compile(rb'nonce="[\w-]{22}"')


@dataclass(frozen=True)
class Answer:
    """A whole answer, with NONCE in place of the random nonce in its policy and body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def answer_of(status: int, headers: Iterable[tuple[str, str]], body: bytes) -> Answer:
    masked = tuple((name, _NONCE.sub("NONCE'", value)) for name, value in headers)
    return Answer(status, masked, _IN_BODY.sub(b'nonce="NONCE"', body))


def told(response: TestResponse) -> Answer:
    """A response's status, headers and body."""
    return answer_of(response.status_code, response.headers, response.data)
