"""JSON with exact numbers."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def read_json(content: bytes) -> Any:
    """Parse JSON; every number becomes a decimal with all of its digits.

    :raises ValueError: it is no JSON, a number is too large for a decimal, or the nesting too deep.
    """
    try:
        # int() refuses the names NaN and Infinity, which are no JSON.
        return json.loads(content, parse_float=Decimal, parse_int=Decimal, parse_constant=int)
    except (ArithmeticError, RecursionError):
        raise ValueError("a number is too large, or the nesting too deep") from None
