"""The comparison of a request's secret in constant time."""

from __future__ import annotations

import hmac
from collections.abc import Sequence


def is_one_of(secret: str, expected: Sequence[str]) -> bool:
    """Whether a secret equals one of the expected secrets, compared in constant time."""
    # Compare with all secrets, even after a match, so that the time does not reveal which secret matched.
    return sum(hmac.compare_digest(secret.encode(), each.encode()) for each in expected) > 0
