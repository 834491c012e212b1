"""Values that are not for logs: they work like any other, and do not show themselves when an object is printed.

Printing happens where nobody meant it to: in reprs, in tracebacks with local variables, in error reports. What is
sent or received as a secret is therefore kept in one of these types from the first line that touches it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_MASK = "***"
# Much more than any error shows: a batch holds hundreds of secrets, and each is looked for.
_MOST_SEARCHED = 10_000


class Hidden(str):
    """A string whose `repr` is a mask; compared, joined and encoded it is the string itself."""

    def __repr__(self) -> str:
        return f"'{_MASK}'"


class AccountNumber(Hidden):
    """A bank account's number; always a string, also where the service sends a JSON number."""


class Credentials(dict[str, Any]):
    """An object of secrets; its `repr` is a mask."""

    def __repr__(self) -> str:
        return repr(_MASK)


class Sealed(bytes):
    """A body as it is sent or received; its `repr` tells the size only."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


class _Several(tuple[Any, ...]):
    """Secrets of which the caller gave a list or a tuple; its `repr` is a mask."""

    def __repr__(self) -> str:
        return repr(_MASK)


_CONCEALED: dict[type, type] = {str: Hidden, bytes: Sealed, dict: Credentials, list: _Several, tuple: _Several}


def concealed(value: T) -> T:
    """`value` in a type whose `repr` is a mask; put in place of a secret argument before anything can fail.

    A list becomes a tuple. Numbers and functions stay as they are.
    """
    for base, kind in _CONCEALED.items():
        if isinstance(value, base):
            return value if isinstance(value, kind) else kind(value)
    return value


def hidden_in(value: object) -> Iterator[Hidden]:
    """Every hidden string in a JSON value; of an IBAN also the account number that it contains."""
    if isinstance(value, Hidden):
        yield value
        compact = "".join(filter(str.isalnum, value))
        if compact[:2].isalpha() and compact[2:4].isdigit():
            yield Hidden(compact[4:])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from hidden_in(item)


def hide(text: str, secrets: Iterable[str]) -> str:
    """The beginning of `text`, with a mask in the place of every secret.

    The longest is masked first, so that none leaves a rest behind. A service may repeat one with other separators and
    capitals.
    """
    text = text[:_MOST_SEARCHED]
    for secret in sorted({str(secret) for secret in secrets} - {""}, key=len, reverse=True):
        text = text.replace(secret, _MASK)
        if spelled := r"[\W_]*".join(filter(str.isalnum, secret)):
            text = re.sub(spelled, _MASK, text, flags=re.IGNORECASE)
    return text
