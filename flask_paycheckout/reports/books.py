"""How CSV and JSON show the lines of the books. Pure."""

from __future__ import annotations

import json
import re
from datetime import datetime
from decimal import Decimal

from flask_paycheckout.rules.books import Line
from flask_paycheckout.rules.text import visible

__all__ = ["COLUMNS", "csv_cells", "json_line"]

# A spreadsheet runs a cell that begins like this; some also look behind spaces, and read the wide forms of Asian fonts.
# A leading apostrophe, which it takes for the mark of a text, is doubled, so that each cell can be read back.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20\u2212]|'")

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
    shown = visible(str(value))
    return f"'{shown}" if _FORMULA.match(shown) else shown


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
