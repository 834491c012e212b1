"""How facts are written down for people and for programs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from flask_paycheckout.clock import as_utc

__all__ = ["moment_text", "plain", "visible"]


def moment_text(moment: datetime) -> str:
    """A moment for people: UTC, to the second."""
    return as_utc(moment).strftime("%Y-%m-%d %H:%M:%S") + "Z"


def visible(line: str) -> str:
    """A line for a terminal, with every sign spelled out that is not printed but obeyed.

    Statuses and errors hold what strangers wrote: an escape that clears the screen, a line break that forges a line.
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape", "surrogatepass").decode() for sign in line
    )


def plain(value: Any) -> Any:
    """The same as values that JSON has; moments as ISO 8601 text, amounts as exact text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    return value
