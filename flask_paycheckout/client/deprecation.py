"""Operations that the service calls deprecated say so when they are used."""

from __future__ import annotations

import warnings

__all__ = ["deprecated"]


def deprecated(what: str, instead: str) -> None:
    """Warns the caller of the method that calls this.

    :param what: the method, as written after `client.`.
    :param instead: what to use in its place, ending the sentence "use ...".
    """
    warnings.warn(
        f"client.{what} uses an operation that the service deprecates: use {instead}", DeprecationWarning, stacklevel=3
    )
