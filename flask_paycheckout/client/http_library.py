"""The HTTP library: the only module that names it, so that another one of the same shape takes its place here.

What it stands on itself, `httpcore`, is loaded with the first connection: an application that is being loaded has no
use for it yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    import httpcore

__all__ = ["httpcore", "httpx"]


def __getattr__(name: str) -> Any:
    if name != "httpcore":
        raise AttributeError(name)
    import httpcore

    return httpcore
