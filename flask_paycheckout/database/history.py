"""The history of a checkout: lines of JSON, each appended in the statement that makes the change."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, ColumnElement, case, func

# Made once, since `json.dumps` makes an encoder for each call with other options than its own.
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
# The length after which reads and webhooks are no longer recorded; moves always are. A year of reads fits.
_MAX_CHARACTERS = 40_000
# The most characters that are shown of a line that another program wrote.
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
    """Encode one entry: its time, its kind, and the facts, each a short text, number or list."""
    entry: dict[str, object] = {"at": at.isoformat(timespec="milliseconds"), "what": what}
    entry |= {name: fact if isinstance(fact, (int, list)) else str(fact) for name, fact in facts.items() if fact}
    return _encode(entry) + "\n"


def appended(column: Column[str], entry: str | ColumnElement[str], *, always: bool) -> ColumnElement[str]:
    """The SQL expression that appends an entry, so that concurrent writers lose none."""
    longer = column + entry
    return longer if always else case((func.length(column) < _MAX_CHARACTERS, longer), else_=column)


def lines(history: str) -> list[dict[str, Any]]:
    """Decode the entries, oldest first; an invalid line, written by another program, becomes an entry `unreadable`."""
    return [_read(entry) for entry in history.splitlines()]


def reduced(history: str, facts: frozenset[str]) -> str:
    """The history with only these facts of each entry; what another program wrote goes."""
    entries = (_read(entry) for entry in history.splitlines())
    kept = ({name: fact for name, fact in entry.items() if name in facts} for entry in entries if "line" not in entry)
    return "".join(_encode(entry) + "\n" for entry in kept)


def _read(entry: str) -> dict[str, Any]:
    try:
        read = json.loads(entry)
        datetime.fromisoformat(read["at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return {"what": Entry.UNREADABLE.value, "line": entry[:_SHOWN]}
    return {"what": Entry.UNREADABLE.value} | dict(read)
