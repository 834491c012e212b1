"""Each planted fault turns a test red. A test that stays green with its fault in place guards nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.planting import Edit
from tests.faults.running import FAILED, PASSED, Loaded, run
from tests.faults.table import FAULTS

ALL = [(name, *planted) for faults in FAULTS.values() for name, planted in faults.items()]
TESTS = sorted({noticed_by for _, noticed_by, *_ in ALL})
FILES = sorted({test.partition("::")[0] for test in TESTS})


@pytest.fixture(scope="module")
def loaded() -> Iterator[Loaded]:
    """All tests that notice a fault."""
    with Loaded(TESTS) as process:
        yield process


@pytest.mark.parametrize(
    ("noticed_by", "edits"), [pytest.param(test, edits, id=name.replace(" ", "-")) for name, test, *edits in ALL]
)
def test_a_planted_fault_is_noticed(noticed_by: str, edits: list[Edit], loaded: Loaded, tmp_path: Path) -> None:
    ended, said = run([noticed_by], edits, tmp_path / "log", loaded)
    assert ended == FAILED, said


@pytest.mark.parametrize("file", FILES)
def test_without_a_fault_the_same_tests_pass(file: str, loaded: Loaded, tmp_path: Path) -> None:
    ended, said = run([test for test in TESTS if test.startswith(file)], (), tmp_path / "log", loaded)
    assert ended == PASSED, said
