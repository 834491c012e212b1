"""Values that must not appear in logs: they work like other values, but their `repr` is a mask.

Values are often printed unintentionally: in reprs, in tracebacks with local variables, in error reports. Each secret
that is sent or received is therefore converted to one of these types by the first line that handles it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_MASK = "***"
# In characters; much more than any error shows. A batch may have hundreds of secrets, each of which is searched for.
_MOST_SEARCHED = 10_000


class Hidden(str):
    """A string whose `repr` is a mask; it compares, joins and encodes like the string itself."""

    def __repr__(self) -> str:
        return f"'{_MASK}'"


class AccountNumber(Hidden):
    """A bank account's number; always a string, even if the service sends a JSON number."""


class Credentials(dict[str, Any]):
    """An object of secrets; its `repr` is a mask."""

    def __repr__(self) -> str:
        return repr(_MASK)


class Sealed(bytes):
    """A request's or response's body; its `repr` shows only the size."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


class _Several(tuple[Any, ...]):
    """Secrets that the caller passed as a list or a tuple; the `repr` is a mask."""

    def __repr__(self) -> str:
        return repr(_MASK)


_CONCEALED: dict[type, type] = {str: Hidden, bytes: Sealed, dict: Credentials, list: _Several, tuple: _Several}


def concealed(value: T) -> T:
    """`value` in a type whose `repr` is a mask; it replaces a secret argument before anything can fail.

    A list becomes a tuple. Numbers and functions stay unchanged.
    """
    for base, kind in _CONCEALED.items():
        if isinstance(value, base):
            return value if isinstance(value, kind) else kind(value)
    return value


def given_type(value: object) -> str:
    """The name of the type of an argument or a setting as the caller gave it, before it was concealed."""
    return next((base for base, kind in _CONCEALED.items() if type(value) is kind), type(value)).__name__


def hidden_in(value: object) -> Iterator[Hidden]:
    """Every hidden string in a JSON value; for an IBAN also the account number that it contains."""
    if isinstance(value, Hidden):
        yield value
        compact = "".join(filter(str.isalnum, value))
        if compact[:2].isalpha() and compact[2:4].isdigit():
            yield Hidden(compact[4:])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from hidden_in(item)


def hide(text: str, secrets: Iterable[str]) -> str:
    """The beginning of `text`, in which a mask replaces every secret.

    The longest secret is masked first, so that no part of it remains. A service may repeat a secret with other
    separators and capitals.
    """
    text = text[:_MOST_SEARCHED]
    for secret in sorted({str(secret) for secret in secrets} - {""}, key=len, reverse=True):
        text = text.replace(secret, _MASK)
        if spelled := r"[\W_]*".join(filter(str.isalnum, secret)):
            text = re.sub(spelled, _MASK, text, flags=re.IGNORECASE)
    return text
