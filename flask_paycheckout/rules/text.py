"""Conversion of values to text for people, and to JSON values for programs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from flask_paycheckout.clock import as_utc

__all__ = [
    "PRUNED_EVENTS_TEXT",
    "PRUNED_PAYOUT_TEXT",
    "PRUNED_TEXT",
    "account_text",
    "moment_text",
    "plain",
    "visible",
]

PRUNED_TEXT = "PRUNED: earlier entries of this history were removed, except for decisions of people"
PRUNED_PAYOUT_TEXT = f"{PRUNED_TEXT} and moves of money"
PRUNED_EVENTS_TEXT = "PRUNED: earlier events were removed after their delivery"


def moment_text(moment: datetime) -> str:
    """Format a time for people: UTC, to the second."""
    return as_utc(moment).strftime("%Y-%m-%d %H:%M:%S") + "Z"


def account_text(account: str) -> str:
    """A merchant account's name to stand behind a subject; nothing for the account of the settings."""
    return f" (account {account})" if account else ""


def visible(line: str) -> str:
    """A line for a terminal or a log, with control characters escaped.

    Statuses and errors can contain text of strangers: an escape sequence could clear the screen, and a line break
    could forge a line.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in line
    )


def plain(value: Any) -> Any:
    """Convert nested values to those that JSON has: times become ISO 8601 text, amounts exact text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    return value
