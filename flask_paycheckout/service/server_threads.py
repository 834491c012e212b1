"""How many requests the web server of this process serves at once, as far as public means tell."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePath

__all__ = ["default_web_calls", "threads_told"]

# What a worker of a few threads can spare.
_UNKNOWN = 2
_THREADS = re.compile(r"(?:^|\s)--threads[=\s]+(\d{1,4})(?=\s|$)")


@cache
def default_web_calls() -> int:
    """Half of the server's threads, at least 1; 2 when it is not known how many there are."""
    threads = threads_told(sys.argv, os.environ)
    return _UNKNOWN if threads is None else max(1, threads // 2)


def threads_told(argv: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """The `--threads` of gunicorn or waitress, from their command line and, for gunicorn, GUNICORN_CMD_ARGS.

    None when this is another program, or the number stands in a configuration file: that can be any Python.
    """
    program = PurePath(argv[0]).name if argv else ""
    if program not in ("gunicorn", "waitress-serve"):
        return None
    told = environ.get("GUNICORN_CMD_ARGS", "") if program == "gunicorn" else ""
    # The command line overrules the variable, and of several options the last one counts.
    found = _THREADS.findall(f"{told} {' '.join(argv[1:])}")
    return int(found[-1]) if found else None
