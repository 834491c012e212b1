"""The points where a process can die or its database can fail: a run passes them in the same order each time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sqlalchemy import Engine

import flask_paycheckout

DEAD = 77
"""How a process leaves that died where it was told to."""

_OURS = str(Path(flask_paycheckout.__file__).parent) + os.sep
_SANDBOX, _CLIENT = (f"{_OURS}{name}{os.sep}" for name in ("sandbox", "client"))

Passes = Callable[[Any, bool], None]
"""Told where the process is, and whether a database can fail there."""


class _DriverError(Exception):
    """Asks the call that is passing to fail as the driver's own calls do."""


class Counting:
    """Only writes down where it passes."""

    def __init__(self) -> None:
        self._passed: list[tuple[Any, bool]] = []

    def __call__(self, where: Any, may_fail: bool) -> None:
        self._passed.append((where, may_fail))

    @property
    def points(self) -> list[tuple[str, bool]]:
        return [(where if isinstance(where, str) else _named(*where), may_fail) for where, may_fail in self._passed]


class Death:
    """Dies at one point, as a process does that is killed: no handler, no `finally`, no rollback runs."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self, where: Any, may_fail: bool) -> None:
        if self._left == 0:
            os._exit(DEAD)
        self._left -= 1


class Outage:
    """From one point on every call of the database fails."""

    def __init__(self, at: int, *, calls: float = float("inf")) -> None:
        self._left = at
        self._failing = calls

    @classmethod
    def once(cls, at: int) -> Outage:
        """Only that one call fails."""
        return cls(at, calls=1)

    def __call__(self, where: Any, may_fail: bool) -> None:
        self._left -= 1
        if self._left < 0 and may_fail and self._failing > 0:
            self._failing -= 1
            raise _DriverError


def watch_database(engine: Engine, passes: Passes) -> None:
    """Pass before and after each connect, statement and commit, as near to the driver as SQLAlchemy lets us.

    A failure is the driver's own error, so that SQLAlchemy treats it like any: one "after" means that the statement
    was done, or the commit is a fact, and nobody was told.
    """
    dialect: Any = engine.dialect
    driver_error = dialect.dbapi.OperationalError

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            what = " ".join(str(arguments[1]).split())[:90] if "execute" in name else name.removeprefix("do_")
            try:
                passes(f"before {what}", True)
                answer = call(*arguments, **options)
                passes(f"after {what}", True)
            except _DriverError:
                raise driver_error("the server closed the connection") from None
            return answer

        return watched

    for name in ("connect", "do_execute", "do_executemany", "do_commit"):
        setattr(dialect, name, around(name, getattr(dialect, name)))


def watch_instructions(passes: Passes, *, client: bool) -> None:
    """Pass before every bytecode instruction of the extension that this thread runs from now on.

    :param client: of its payments client too.
    """
    others = (_SANDBOX,) if client else (_SANDBOX, _CLIENT)
    # By address, because hashing a code object hashes all that is in it; each is held, so that no address is reused.
    known: dict[int, tuple[CodeType, bool]] = {}

    def instruction(frame: FrameType, happened: str, argument: object) -> Any:
        if happened == "opcode":
            passes((frame.f_code, frame.f_lasti), False)
        return instruction

    def call(frame: FrameType, happened: str, argument: object) -> Any:
        code = frame.f_code
        found = known.get(id(code))
        if found is None:
            name = code.co_filename
            found = known[id(code)] = (code, name.startswith(_OURS) and not name.startswith(others))
        if not found[1]:
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return instruction

    sys.settrace(call)


def _named(code: CodeType, offset: int) -> str:
    """The instruction, for people: no other has this name."""
    line = next((line for start, end, line in code.co_lines() if start <= offset < end), None)
    file = code.co_filename.removeprefix(_OURS)
    return f"{file}:{line} {code.co_qualname} (from line {code.co_firstlineno}), instruction {offset // 2}"
