"""Runs a shop's own tests under each value of each switch: `... sandbox try-unknowns -- pytest`.

Each run is a process of its own, to which a variable of the environment tells the switch. Every sandbox that it makes
follows it, such as the one of the fixture `paycheckout_sandbox`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any

from flask_paycheckout.sandbox.terminal.connection import WRONG_USE, CommandFailed
from flask_paycheckout.sandbox.terminal.printing import table
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, UNKNOWNS_VARIABLE, did_you_mean

_SHOWN_LINES = 20


def try_unknowns(only: Sequence[str], command: Sequence[str]) -> int:
    """Run a command under the defaults and each other value, and print a table; 1 when it failed under any.

    :param only: names of switches; all when empty.
    :raises CommandFailed: there is no such switch, or no such command.
    """
    names = [unknown.name for unknown in ASSUMPTIONS]
    for name in only:
        if name not in names:
            raise CommandFailed(f"There is no unknown named {name!r}.{did_you_mean(name, names)}", WRONG_USE)
    wanted = [unknown for unknown in ASSUMPTIONS if unknown.name in (only or names)]
    changes = ["", *(f"{unknown.name}={value}" for unknown in wanted for value in unknown.alternatives)]
    try:
        rows = [_run(command, change) for change in changes]
    except OSError as wrong:
        raise CommandFailed(f"The command cannot be run: {wrong}.", WRONG_USE) from None
    print(table(rows, ("switch", "result", "seconds")))  # noqa: T201
    return int(any(row["result"] != "passed" for row in rows))


def _run(command: Sequence[str], change: str) -> dict[str, Any]:
    begun = monotonic()
    environ = os.environ | {UNKNOWNS_VARIABLE: change}
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # noqa: S603
    result = "passed" if done.returncode == 0 else f"failed ({done.returncode})"
    row = {"switch": change or "defaults", "result": result, "seconds": f"{monotonic() - begun:.1f}"}
    if done.returncode != 0:
        shown = done.stdout.decode(errors="replace").splitlines()[-_SHOWN_LINES:]
        print(f"{row['switch']}: {result}", *shown, sep="\n", file=sys.stderr)  # noqa: T201
    return row
