"""The comparison of secrets that a request brings, whose time tells nothing of them."""

from __future__ import annotations

import hmac
from collections.abc import Sequence


def is_one_of(given: str, expected: Sequence[str]) -> bool:
    """Whether a secret is one of the expected ones, compared in constant time."""
    # Compare with all, even after a match, so that the time does not tell which one matched.
    return sum(hmac.compare_digest(given.encode(), one.encode()) for one in expected) > 0
