"""Each planted fault turns a test red. A test that stays green with its fault in place guards nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.planting import Edit
from tests.faults.running import run
from tests.faults.table import FAULTS

ALL = [(name, *planted) for faults in FAULTS.values() for name, planted in faults.items()]
# What pytest's exit codes mean: only failed tests are a fault that was noticed.
_PASSED, _FAILED = 0, 1


@pytest.mark.parametrize(
    ("noticed_by", "edits"), [pytest.param(test, edits, id=name.replace(" ", "-")) for name, test, *edits in ALL]
)
def test_a_planted_fault_is_noticed(noticed_by: str, edits: list[Edit], tmp_path: Path) -> None:
    code, said = run([noticed_by], edits, tmp_path / "log")
    # A test that cannot even be loaded notices nothing.
    assert code == _FAILED, said
    assert "error" not in said.splitlines()[-1], said


def test_without_a_fault_the_same_tests_pass(tmp_path: Path) -> None:
    code, said = run(sorted({noticed_by for _, noticed_by, *_ in ALL}), (), tmp_path / "log")
    assert code == _PASSED, said
