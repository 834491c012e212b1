"""The check of order ids, made by every call that takes one before the id reaches the database or a log."""

from __future__ import annotations

import unicodedata

MAX_ID = 255
"""The most characters of an order id or a checkout id."""

_REQUEST = "request:"

# Control characters, halves of surrogate pairs, line and paragraph separators. PostgreSQL refuses some of them, and in
# a log each could forge a line or hide one.
_REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})


def require_order_id(order_id: object, name: str = "order_id") -> str:
    """Return a valid order id unchanged.

    :param name: of the argument, for the errors.
    :raises TypeError: it is not a string.
    :raises ValueError: it is empty, longer than `MAX_ID` characters, or contains a control character, a line break or
        half of a surrogate pair. The message gives the character's number and never quotes the id.
    """
    if not isinstance(order_id, str):
        remedy = "write str(order.id), in a template order.id|string"
        raise TypeError(f"{name} must be a string, not {type(order_id).__name__}; {remedy}")
    fault = _fault(order_id)
    if fault is not None:
        raise ValueError(
            f"{name} must have 1 to {MAX_ID} characters, none of them a control character, a line break or half of a"
            f" surrogate pair; this one {fault}. Use the order's number or another plain text."
        )
    return order_id


def is_order_id(text: object) -> bool:
    """Whether this is a valid order id; a caller may give anything, such as a checkout in the place of its id."""
    return isinstance(text, str) and _fault(text) is None


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


def require_account_name(name: object) -> str:
    """Return a valid account name unchanged; "" is the account of the settings.

    :raises TypeError: it is not a string.
    :raises ValueError: it is longer than 255 characters, or contains control characters.
    """
    if not isinstance(name, str):
        raise TypeError(f"account must be a string, not {type(name).__name__}; '' is the account of the settings")
    if name and not is_order_id(name):
        raise ValueError(f"account must have {MAX_ID} characters at most, none of them a control character")
    return name


def order_of_request(reference: str) -> str:
    """The order id of a payment request."""
    return _REQUEST + reference


def request_of(order_id: str) -> str | None:
    """The reference of the payment request whose order id this is; None for an order of the shop."""
    return order_id.removeprefix(_REQUEST) if order_id.startswith(_REQUEST) else None


def order_text(order_id: str) -> str:
    """An order or a payment request as sentences name it, such as `order o-1` or `request logo`."""
    request = request_of(order_id)
    return f"order {order_id}" if request is None else f"request {request}"
