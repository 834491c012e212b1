"""The `User-Agent` header: this package and its version, and the program that uses it."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["user_agent"]

_PRODUCT = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?")
_LONGEST = 100


def user_agent(app: str | None) -> str:
    """The header's value.

    :param app: name and version of the program, as in `my-shop/2.3`.
    :raises TypeError: it is no string.
    :raises ValueError: it cannot stand in the header.
    """
    if app is None:
        return _own()
    if not isinstance(app, str):
        raise TypeError(f"app must be a string, not {type(app).__name__}")
    if len(app) > _LONGEST or not all(_PRODUCT.fullmatch(part) for part in app.split(" ")):
        raise ValueError(f"app must be a name such as 'my-shop' or 'my-shop/2.3' of at most {_LONGEST} characters")
    return f"{_own()} {app}"


@cache
def _own() -> str:
    try:
        return f"flask-paycheckout/{version('flask-paycheckout')}"
    except PackageNotFoundError:
        return "flask-paycheckout"
