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
"""The exit code of a process that died at its point."""

_OURS = str(Path(flask_paycheckout.__file__).parent) + os.sep
_SANDBOX = f"{_OURS}sandbox{os.sep}"

Passes = Callable[[str, bool], None]
"""Called with the name of the point, and whether a database call can fail there."""


class _DriverError(Exception):
    """Makes the current call fail with the driver's own error."""


class Fate:
    """Acts at one point: the process dies as if killed, or one call of the database fails."""

    def __init__(self, at: int, dies: bool) -> None:
        self._left, self._dies = at, dies

    def __call__(self, where: str, may_fail: bool) -> None:
        self._left -= 1
        if self._left == -1 and self._dies:
            # No handler, no `finally`, no rollback runs.
            os._exit(DEAD)
        if self._left == -1 and may_fail:
            raise _DriverError


def watch_database(engine: Engine, passes: Passes) -> None:
    """Call `passes` before and after each connect, statement and commit, as close to the driver as SQLAlchemy allows.

    A failure is the driver's own error, so that SQLAlchemy treats it like any other. A failure "after" means that the
    statement or commit was executed, but its success was not reported.
    """
    dialect: Any = engine.dialect
    driver_error = dialect.dbapi.OperationalError

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            what = " ".join(str(arguments[1]).split())[:90] if "execute" in name else name.removeprefix("do_")
            try:
                passes(f"before {what}", True)
                answer = call(*arguments, **options)
                # A failure after a read would equal one before it, and is not tried.
                passes(f"after {what}", not what.startswith("SELECT"))
            except _DriverError:
                raise driver_error("the server closed the connection") from None
            return answer

        return watched

    for name in ("connect", "do_execute", "do_executemany", "do_commit"):
        setattr(dialect, name, around(name, getattr(dialect, name)))


def watch_instructions(wrote: Callable[[str], None]) -> None:
    """Call `wrote` for each bytecode instruction of the extension before which this process wrote anything.

    At all other instructions, a death leaves the same state as one instruction earlier.
    """
    file = os.open("/proc/self/io", os.O_RDONLY)

    def writes() -> bytes:
        return os.pread(file, 512, 0).split()[7]

    count_before = writes()
    ours: dict[str, bool] = {}

    def instruction(frame: FrameType, happened: str, argument: object) -> Any:
        nonlocal count_before
        if happened == "opcode" and writes() != count_before:
            wrote(_named(frame.f_code, frame.f_lasti))
            count_before = writes()
        return instruction

    def call(frame: FrameType, happened: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        if name not in ours:
            ours[name] = name.startswith(_OURS) and not name.startswith(_SANDBOX)
        if not ours[name]:
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return instruction

    sys.settrace(call)


def _named(code: CodeType, offset: int) -> str:
    """The instruction as text for people."""
    line = next((line for start, end, line in code.co_lines() if start <= offset < end), None)
    file = code.co_filename.removeprefix(_OURS)
    return f"{file}:{line} {code.co_qualname} (from line {code.co_firstlineno}), instruction {offset // 2}"
