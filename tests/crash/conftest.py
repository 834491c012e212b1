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
        order_ = json.dumps({"address": address, "folder": str(tmp_path), "host": host, **order})
        # Its children die before they could write their coverage.
        calm = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        nursery = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tests.crash.nursery", order_],
            cwd=_ROOT,
            env=calm,
            capture_output=True,
            text=True,
            timeout=_SOAK_SECONDS,
        )
        assert nursery.returncode == 0, nursery.stderr
        results = Found(**json.loads(nursery.stdout))
        points = results.points
        print(f"{sum(points.values())} points in {results.seconds} s: {points}; left: {results.left_behind}")
        return results

    return run


@pytest.fixture
def accounts() -> int:
    return 2
