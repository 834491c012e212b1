"""The number of threads of this process's web server, as far as its command line tells."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePath

__all__ = ["default_web_calls", "threads_told"]

# Few enough for a worker with only a few threads.
_UNKNOWN = 2
_THREADS = re.compile(r"(?:^|\s)--threads[=\s]+(\d{1,4})(?=\s|$)")


@cache
def default_web_calls() -> int:
    """Half of the server's threads, at least 1; 2 when their number is unknown."""
    threads = threads_told(sys.argv, os.environ)
    return _UNKNOWN if threads is None else max(1, threads // 2)


def threads_told(argv: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """The value of `--threads` on the command line of gunicorn or waitress, or in gunicorn's GUNICORN_CMD_ARGS.

    None for other programs, and when a configuration file sets it: that can be any Python code.
    """
    program = PurePath(argv[0]).name if argv else ""
    if program not in ("gunicorn", "waitress-serve"):
        return None
    variable = environ.get("GUNICORN_CMD_ARGS", "") if program == "gunicorn" else ""
    # The command line overrides the variable, and the last of several options counts.
    found = _THREADS.findall(f"{variable} {' '.join(argv[1:])}")
    return int(found[-1]) if found else None
