"""Programs that some tests need: without one, its tests are skipped with its name, or fail if all are required."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

REQUIRED = "REQUIRE_OPTIONAL_PARTS"


def chromium() -> Path:
    """The system's Chromium."""
    return _program("Chromium", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def postgresql() -> Path:
    """The folder of the programs of the newest PostgreSQL server."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    if programs or on_path:
        return programs[-1].parent if programs else Path(str(on_path)).parent
    return _missing("PostgreSQL", "postgresql")


def pgbouncer() -> Path:
    """The connection pooler."""
    return _program("PgBouncer", "pgbouncer")


def redis() -> Path:
    """The Redis server."""
    return _program("Redis", "redis-server")


def _program(part: str, package: str, *others: str) -> Path:
    """A program with the name of its package in Debian, or one of these others."""
    # Debian installs some in a folder that only root has in its path.
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    program = next(filter(None, (shutil.which(name, path=path) for name in (package, *others))), None)
    return Path(program) if program else _missing(part, package)


def left_out(reports: list[pytest.TestReport]) -> list[str]:
    """Summarize skipped tests, one line for each reason.

    :param reports: the reports of the skipped tests.
    """
    reasons = Counter(_reason(report) for report in reports)
    return [
        f"{count} {'test' if count == 1 else 'tests'} left out: {reason}" for reason, count in sorted(reasons.items())
    ]


def _reason(report: pytest.TestReport) -> str:
    # A skip's report holds file, line and reason.
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def _missing(part: str, package: str) -> Path:
    message = f"{part} is not on this machine; install Debian's package {package}"
    if os.environ.get(REQUIRED):
        pytest.fail(f"{message} ({REQUIRED} is set)")
    pytest.skip(message)
