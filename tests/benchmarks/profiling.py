"""Where the time of our part of a row goes: by package, by function, and in how many statements."""

from __future__ import annotations

import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.client import parse_headers
from io import BytesIO
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask
from werkzeug.test import EnvironBuilder, run_wsgi_app

_TIMES = 200
_FUNCTIONS = 40


def show_profile(name: str, work: Callable[[], object]) -> None:
    for _ in range(20):
        work()
    with _statements() as statements:
        work()
    print(f"{name}: {sum(statements.values())} statements each")
    for statement, number in statements.items():
        print(f"  {number} x {' '.join(statement.split())[:110]}")
    # Waiting for the disk and for the service is none of the program's doing.
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    for _ in range(_TIMES):
        work()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    print(f"{name}: {1000 * stats.total_tt / _TIMES:.3f} ms of processor time each under the profiler, by package:")
    for package, seconds in _by_package(stats.stats).most_common(16):
        print(f"  {1000 * seconds / _TIMES:7.3f} ms  {package}")
    stats.sort_stats("cumulative").print_stats(_FUNCTIONS)


@contextmanager
def _statements() -> Iterator[Counter[str]]:
    """Counts what any engine of SQLAlchemy's is asked meanwhile, commits included."""
    seen: Counter[str] = Counter()

    def executed(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        seen[statement] += 1

    def committed(connection: Any) -> None:
        seen["COMMIT"] += 1

    sa.event.listen(sa.Engine, "before_cursor_execute", executed)
    sa.event.listen(sa.Engine, "commit", committed)
    try:
        yield seen
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", executed)
        sa.event.remove(sa.Engine, "commit", committed)


def _by_package(functions: dict[Any, Any]) -> Counter[str]:
    """Seconds spent in each package; what is written in C counts for the package that called it."""
    spent: Counter[str] = Counter()
    for (file, _, _), (_, _, own, _, callers) in functions.items():
        if file != "~":
            spent[_package(file)] += own
            continue
        for (caller, _, _), (_, _, part, _) in callers.items():
            spent[_package(caller)] += part
    return spent


def _package(file: str) -> str:
    parts = Path(file).parts
    for root in ("site-packages", "python3.11", "python3.12", "python3.13", "python3.14"):
        if root in parts:
            return parts[parts.index(root) + 1].removesuffix(".py")
    return "flask_paycheckout" if "flask_paycheckout" in parts else parts[-1]


def replayed(app: Flask, requests: Iterable[bytes], status: int) -> Callable[[], None]:
    """The app's work for each of these requests, without a server; each must be answered with this status."""

    environs = iter([_environ(request) for request in requests])

    def work() -> None:
        body, line, _ = run_wsgi_app(app, next(environs), buffered=True)
        assert line.startswith(str(status)), (line, b"".join(body)[:300])

    return work


def _environ(request: bytes) -> dict[str, Any]:
    first, _, rest = request.partition(b"\r\n")
    method, path, _ = first.decode().split(" ")
    stream = BytesIO(rest)
    headers = parse_headers(stream)
    # What is left of the stream is the body.
    return EnvironBuilder(path, method=method, headers=list(headers.items()), input_stream=stream).get_environ()
