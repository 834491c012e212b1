"""Starts a nursery process and reads its results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.nursery import Found

Try = Callable[..., Found]

_ROOT = Path(__file__).parents[2]
_SOAK_SECONDS = 12 * 3600


@pytest.fixture
def tries(tmp_path: Path, host: str) -> Try:
    """Lets a nursery process try an order; fields that are not given have the order's defaults."""

    def run(address: str, **order: Any) -> Found:
        told = json.dumps({"address": address, "folder": str(tmp_path), "host": host, **order})
        # Its children die before they could write their coverage.
        calm = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        nursery = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tests.crash.nursery", told],
            cwd=_ROOT,
            env=calm,
            capture_output=True,
            text=True,
            timeout=_SOAK_SECONDS,
        )
        assert nursery.returncode == 0, nursery.stderr
        found = Found(**json.loads(nursery.stdout))
        print(f"{sum(found.points.values())} points in {found.seconds} s: {found.points}; left: {found.left_behind}")
        return found

    return run


@pytest.fixture
def accounts() -> int:
    return 2
