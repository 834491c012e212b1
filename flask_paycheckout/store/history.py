"""The story of one checkout as lines of JSON, appended in the same statement as the change that they tell of."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, ColumnElement, case, func

__all__ = ["Entry", "appended", "line", "lines"]

# Reads and webhooks stop being written down here; moves never do. A year of reads fits.
_MAX_CHARACTERS = 40_000
# Characters of a line that another program wrote.
_SHOWN = 200


class Entry(StrEnum):
    """The kinds of entries; stored, and part of what `explain` returns."""

    CREATED = "created"
    WEBHOOK = "webhook"
    READ = "read"
    NO_ANSWER = "no answer"
    NOT_APPLIED = "not applied"
    MOVED = "moved"
    RESOLVED = "resolved"
    PAYBACK = "payback"
    UNREADABLE = "unreadable"


def line(at: datetime, what: Entry, **facts: object) -> str:
    """One entry: when, what, and the facts, each a short text or number."""
    entry: dict[str, object] = {"at": at.isoformat(timespec="milliseconds"), "what": what.value}
    entry |= {name: fact if isinstance(fact, (int, list)) else str(fact) for name, fact in facts.items() if fact}
    return json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"


def appended(column: Column[str], entry: str | ColumnElement[str], *, always: bool) -> ColumnElement[str]:
    """The SQL for the column with this entry at its end; concurrent writers each keep theirs."""
    longer = column + entry
    return longer if always else case((func.length(column) < _MAX_CHARACTERS, longer), else_=column)


def lines(history: str) -> list[dict[str, Any]]:
    """The entries, oldest first; what is none, and so was written by another program, is an entry `unreadable`."""
    return [_read(entry) for entry in history.splitlines()]


def _read(entry: str) -> dict[str, Any]:
    try:
        read = json.loads(entry)
        datetime.fromisoformat(read["at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return {"what": Entry.UNREADABLE.value, "line": entry[:_SHOWN]}
    return {"what": Entry.UNREADABLE.value} | dict(read)
