"""Hosted checkout for Flask shops: the order's total goes out, a verified payment comes back.

The names below are the public ones. They are imported when first used, so that
`flask_paycheckout.client` can be used without Flask and nothing optional is loaded early.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask_paycheckout.totals import Pay, Receive

__all__ = ["Pay", "Receive"]

_HOMES = {
    "Pay": "totals",
    "Receive": "totals",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
