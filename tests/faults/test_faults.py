"""Each planted fault turns a test red. A test that stays green with its fault in place guards nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.table import FAULTS

NOTICED_BY = {name: planted[0] for faults in FAULTS.values() for name, planted in faults.items()}
TESTS = sorted(set(NOTICED_BY.values()))
FOLDERS = sorted({test.partition("::")[0].partition("/")[0] for test in TESTS})


def run(log: Path, fault: str, *tests: str) -> tuple[int, str]:
    """Run tests in a process of their own; gives the exit code, and what was written last."""
    # The variables of this run would make that one a part of it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "tests.faults", fault, *(f"tests/{test}" for test in tests)]
    root = Path(__file__).parents[2]
    # Not to a pipe: `tests.canaries` looks for secrets in what comes from those, and a fault may show one.
    with log.open("w") as told:
        ran = subprocess.run(command, cwd=root, env=environment, stdout=told, stderr=told, timeout=600)
    return ran.returncode, log.read_text()[-3000:].strip()


@pytest.mark.parametrize("fault", NOTICED_BY, ids=lambda fault: fault.replace(" ", "-"))
def test_a_planted_fault_is_noticed(fault: str, tmp_path: Path) -> None:
    """By the test itself; what comes before and after it must not fail."""
    _, said = run(tmp_path / "log", fault, NOTICED_BY[fault])
    ended = said.rpartition("\n")[2]
    assert ended.startswith("1 failed"), said
    assert "error" not in ended, said


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_a_fault_the_same_tests_pass(folder: str, tmp_path: Path) -> None:
    code, said = run(tmp_path / "log", "", *(test for test in TESTS if test.startswith(folder)))
    assert code == 0, said
