"""JSON with exact numbers, read and written."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def read_json(content: bytes) -> Any:
    """Parse JSON in UTF-8; every number becomes a decimal with all of its digits.

    :raises ValueError: it is not JSON, a number is too large for a decimal, the nesting too deep, or a text has half of
        a surrogate pair.
    """
    try:
        # Some clients send a byte order mark.
        text = content.decode("utf-8-sig")
        # int() refuses the names NaN and Infinity, which are no JSON.
        value = json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=int)
        if "\\u" in text:
            # Half of a surrogate pair could neither be stored nor shown.
            json.dumps(value, ensure_ascii=False, default=str).encode()
        return value
    except (ArithmeticError, RecursionError):
        raise ValueError("a number is too large, or the nesting too deep") from None


def write_json(value: Any) -> str:
    """One line of ASCII, as `json.dumps` writes it, with all digits of decimals."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(name)}: {write_json(item)}' for name, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(write_json, value))}]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)
