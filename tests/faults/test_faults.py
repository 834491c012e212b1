"""Each planted fault turns a test red. A test that stays green with its fault in place guards nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.running import run
from tests.faults.table import FAULTS, Fault

ALL = [fault for faults in FAULTS.values() for fault in faults]
# What pytest's exit codes mean: only failed tests are a fault that was noticed.
_PASSED, _FAILED = 0, 1


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name.replace(" ", "-"))
def test_a_planted_fault_is_noticed(fault: Fault, tmp_path: Path) -> None:
    code, said = run([fault.noticed_by], fault.edits, tmp_path / "log")
    # A test that cannot even be loaded notices nothing.
    assert code == _FAILED, said
    assert "error" not in said.splitlines()[-1], said


def test_without_a_fault_the_same_tests_pass(tmp_path: Path) -> None:
    code, said = run(sorted({fault.noticed_by for fault in ALL}), (), tmp_path / "log")
    assert code == _PASSED, said
