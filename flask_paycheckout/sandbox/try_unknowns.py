"""Runs a shop's own tests under each value of each switch: `... sandbox try-unknowns -- pytest`.

Each run is a process of its own, to which a variable of the environment tells the switch. Every sandbox that it makes
follows it, such as the one of the fixture `paycheckout_sandbox`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any

from flask_paycheckout.sandbox.terminal.printing import table
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, UNKNOWNS_VARIABLE

NAME = "try-unknowns"
"""Name of the command."""
_SHOWN_LINES = 20


def try_unknowns(arguments: Sequence[str]) -> int:
    """Run a command under the defaults and each other value, and print a table; 1 when it failed under any."""
    parser = argparse.ArgumentParser(prog=f"python -m flask_paycheckout.sandbox {NAME}", description=__doc__)
    names = [unknown.name for unknown in ASSUMPTIONS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help="a switch; may be repeated")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="what to run; write -- before it")
    options = parser.parse_args(arguments)
    wanted = [unknown for unknown in ASSUMPTIONS if unknown.name in (options.only or names)]
    changes = ["", *(f"{unknown.name}={value}" for unknown in wanted for value in unknown.alternatives)]
    try:
        rows = [_run(options.command, change) for change in changes]
    except OSError as wrong:
        parser.error(f"the command cannot be run: {wrong}")
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
