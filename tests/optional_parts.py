"""Parts of the machine that some tests want: skipped by name where missing, or failed where all are required."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

__all__ = ["chromium"]

REQUIRED = "REQUIRE_OPTIONAL_PARTS"


def chromium() -> Path:
    """The system's Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        found = shutil.which(name)
        if found:
            return Path(found)
    return _missing("Chromium", "install Debian's package chromium to run the browser tests")


def _missing(part: str, remedy: str) -> Path:
    message = f"{part} is not on this machine; {remedy}"
    if os.environ.get(REQUIRED):
        pytest.fail(f"{message} ({REQUIRED} is set)")
    pytest.skip(message)
