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


@pytest.fixture
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


def test_each_defence_that_is_missing_is_noticed(said: dict[str, tuple[int, str]]) -> None:
    """One test for all of them: they are made in one go, and so by one worker."""
    code, log = said.pop("nothing")
    assert code == _PASSED, f"with every defence in place: {log}"
    assert set(said) == {removal.takes_away for threat in THREATS for removal in threat.removals}
    assert {takes_away: log for takes_away, (code, log) in said.items() if not _is_noticed(code, log)} == {}


def _is_noticed(code: int, log: str) -> bool:
    # A test that cannot even be loaded notices nothing.
    return code == _FAILED and "failed" in log and "error" not in log.splitlines()[-1]
