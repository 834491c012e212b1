"""How facts are written down for people and for programs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from flask_paycheckout.clock import as_utc

__all__ = ["moment_text", "plain"]


def moment_text(moment: datetime) -> str:
    """A moment for people: UTC, to the second."""
    return as_utc(moment).strftime("%Y-%m-%d %H:%M:%S") + "Z"


def plain(value: Any) -> Any:
    """The same as values that JSON has; moments as ISO 8601 text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    return value
