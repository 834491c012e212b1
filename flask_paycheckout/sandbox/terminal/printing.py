"""Answers as people read them in a terminal. What others wrote cannot move the cursor or change colours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flask_paycheckout.sandbox.terminal.connection import WRONG_USE, CommandFailed


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Rows below the names of their columns; a sentence when there are none."""
    if not rows:
        return "none"
    cells = [list(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def fields(shown: dict[str, Any]) -> str:
    """One line for each field."""
    width = max((len(name) for name in shown), default=0)
    return "\n".join(f"{name:<{width}}  {_cell(value)}" for name, value in shown.items())


def value_of(answer: Any, field: str) -> str:
    """One field of an answer, named by its path. :raises CommandFailed: the answer has no such field."""
    for name in field.split("."):
        if not isinstance(answer, dict) or name not in answer:
            raise CommandFailed(f"--field {plain(field)}: the answer has no such field; --json shows all.", WRONG_USE)
        answer = answer[name]
    return json.dumps(answer) if isinstance(answer, dict | list) else "" if answer is None else plain(str(answer))


def event(one: dict[str, Any]) -> str:
    """An event of the feed as one line."""
    moment = str(one["at"]).partition("T")[2].removesuffix("Z")
    told = (moment, f"{one['kind']:<12}", f"{one['outcome']:<10}", one["about"] or "", one["text"], one["detail"])
    return "  ".join(plain(str(part)) for part in told if part)


def plain(text: str) -> str:
    """Text without control characters, which are written as escapes."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(str(value))
