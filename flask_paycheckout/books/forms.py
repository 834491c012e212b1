"""How CSV and JSON show the lines of the books. Pure."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal

from flask_paycheckout.books.lines import Line
from flask_paycheckout.text import csv_text

__all__ = ["COLUMNS", "csv_cells", "json_line"]

COLUMNS = Line._fields
"""The columns of an export, in this order."""


def csv_cells(line: Line) -> list[str]:
    """The cells of a line. No text begins like a formula: such a text, and one with an apostrophe, gets an apostrophe.

    Control characters are escaped, so that no text of a stranger breaks a line or changes a terminal.
    """
    return [_cell(value) for value in line]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return _moment(value)
    return csv_text(str(value))


def json_line(line: Line) -> str:
    """A line as one JSON object, with amounts as exact text and null for what the service did not report."""
    return json.dumps({name: _plain(value) for name, value in zip(COLUMNS, line, strict=True)}) + "\n"


def _plain(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return f"{value:f}"
    return _moment(value) if isinstance(value, datetime) else str(value)


def _moment(at: datetime) -> str:
    # Always with as many digits, so that lines can be sorted as text.
    return at.isoformat(timespec="microseconds")
