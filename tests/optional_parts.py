"""Parts of the machine that some tests want: skipped by name where missing, or failed where all are required."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

__all__ = ["chromium", "redis"]

REQUIRED = "REQUIRE_OPTIONAL_PARTS"


def chromium() -> Path:
    """The system's Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        found = shutil.which(name)
        if found:
            return Path(found)
    return _missing("Chromium", "install Debian's package chromium to run the browser tests")


def redis() -> Path:
    """The Redis server."""
    found = shutil.which("redis-server")
    return Path(found) if found else _missing("redis-server", "install Debian's package redis-server")


def _missing(part: str, remedy: str) -> Path:
    message = f"{part} is not on this machine; {remedy}"
    if os.environ.get(REQUIRED):
        pytest.fail(f"{message} ({REQUIRED} is set)")
    pytest.skip(message)
