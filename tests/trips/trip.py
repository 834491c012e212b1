"""The length of a flow: calls inside the package, their modules, and changes from one module to another."""

from __future__ import annotations

import sys
import threading
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import flask_paycheckout

_PACKAGE = Path(flask_paycheckout.__file__).parent
# The service that the flows call, in the same process.
_ELSEWHERE = ("sandbox/", "testing.py")


class Length(NamedTuple):
    """The length of a flow's trip."""

    calls: int
    modules: int
    changes: int


class Trip:
    """Records the module of each call inside the package, in all threads, during its `with` block."""

    def __init__(self) -> None:
        self._visited: list[str] = []

    def __enter__(self) -> Trip:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(f"{_PACKAGE}/"):
            return
        module = path.removeprefix(f"{_PACKAGE}/")
        if not module.startswith(_ELSEWHERE):
            self._visited.append(module)

    @property
    def length(self) -> Length:
        changes = sum(here != there for here, there in pairwise(self._visited))
        return Length(len(self._visited), len(set(self._visited)), changes)
