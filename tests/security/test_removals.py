"""Each defence is taken away in a copy, and a test notices. One that stays green without its defence guards nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.table import THREATS

ROOT = Path(__file__).parents[2]
# What pytest's exit codes mean: only failed tests are a removal that was noticed.
_PASSED, _FAILED = 0, 1

# The removals are made one after the other in one process, so one worker takes them all.
pytestmark = pytest.mark.xdist_group("security removals")


@pytest.fixture(scope="session")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """For each removal, the exit code of its test and the end of what pytest wrote."""
    folder = tmp_path_factory.mktemp("removals")
    unwanted = shutil.ignore_patterns("__pycache__", "mutants", "soak")
    for part in ("flask_paycheckout", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    # The workers' own variables would make this a part of their run.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COVERAGE_"))}
    command = [sys.executable, "-m", "tests.security.removing"]
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads((folder / "removing.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("takes_away", [removal.takes_away for threat in THREATS for removal in threat.removals])
def test_a_defence_that_is_missing_is_noticed(takes_away: str, said: dict[str, tuple[int, str]]) -> None:
    code, log = said[takes_away]
    assert code == _FAILED, log
    # A test that cannot even be loaded notices nothing.
    assert "failed" in log, log
    assert "error" not in log.splitlines()[-1], log


def test_with_every_defence_in_place_the_same_tests_pass(said: dict[str, tuple[int, str]]) -> None:
    code, log = said["nothing"]
    assert code == _PASSED, log
