"""The examples of the pages, run: a function for each scenario that a page names, found by `SCENARIOS`.

A scenario takes `scene`, the blocks of the page that name it, and any fixtures.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import FunctionType

__all__ = ["SCENARIOS"]


def _found() -> dict[str, Callable[..., None]]:
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if isinstance(function, FunctionType) and function.__module__ == module.__name__ and not name.startswith("_")
    }


SCENARIOS = _found()
