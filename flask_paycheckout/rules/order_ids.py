"""Which strings may be an order id: one rule for every call, so that none of them reaches the database or a log."""

from __future__ import annotations

import unicodedata

__all__ = ["MAX_ID", "is_order_id", "require_order_id"]

MAX_ID = 255
"""The most characters that an order id or a checkout id has."""

# Control characters, halves of surrogate pairs, line and paragraph separators: a database refuses the first of them or
# the second, and a log takes all of them for something else than text.
_REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})


def require_order_id(order_id: object) -> str:
    """The order id itself, when it can be one.

    :raises TypeError: it is not a string.
    :raises ValueError: it is empty, longer than `MAX_ID` characters, or holds a character that is no text. The message
        names the character by its number and never quotes the id.
    """
    if not isinstance(order_id, str):
        raise TypeError(f"order_id must be a string, not {type(order_id).__name__}; write str(order.id)")
    fault = _fault(order_id)
    if fault is not None:
        raise ValueError(
            f"order_id must have 1 to {MAX_ID} characters, none of them a control character, a line break or half of a"
            f" surrogate pair; this one {fault}. Use the order's number or another plain text."
        )
    return order_id


def is_order_id(text: str) -> bool:
    """Whether this text can be an order id."""
    return _fault(text) is None


def _fault(text: str) -> str | None:
    if not text:
        return "is empty"
    if len(text) > MAX_ID:
        return f"has {len(text)}"
    if text.isprintable():
        return None
    for position, character in enumerate(text):
        if unicodedata.category(character) in _REFUSED:
            return f"holds U+{ord(character):04X} at position {position}"
    return None
