"""Each planted fault turns a test red. A test that stays green with its fault in place guards nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mutants.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
# What pytest's exit codes mean: only failed tests are a fault that was noticed.
_PASSED, _FAILED = 0, 1


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product and its tests in a folder where faults can be planted."""
    folder = tmp_path_factory.mktemp("mutants")
    unwanted = shutil.ignore_patterns("__pycache__", "fonts", "mutants", "browser", "soak")
    for part in ("flask_paycheckout", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@contextmanager
def planted(mutant: Mutant, folder: Path) -> Iterator[None]:
    before: dict[Path, str] = {}
    try:
        for edit in mutant.edits:
            file = folder / "flask_paycheckout" / edit.module
            text = file.read_text()
            before.setdefault(file, text)
            assert text.count(edit.before) == 1, f"{edit.module} has changed: plant this fault anew"
            file.write_text(text.replace(edit.before, edit.after))
        yield
    finally:
        for file, text in before.items():
            file.write_text(text)


def run(mutant: Mutant, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider"]
    command += [f"tests/{mutant.caught_in}", "-k", mutant.by]
    # The workers' own variables would make this a part of their run.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COVERAGE_"))}
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_planted_fault_is_noticed(mutant: Mutant, copy: Path) -> None:
    with planted(mutant, copy):
        noticed = run(mutant, copy)
    assert noticed.returncode == _FAILED, noticed.stdout[-3000:] + noticed.stderr[-3000:]


def test_without_a_fault_the_same_tests_pass(copy: Path) -> None:
    where: dict[str, list[str]] = {}
    for mutant in MUTANTS:
        where.setdefault(mutant.caught_in, []).append(f"({mutant.by})")
    for file, names in where.items():
        whole = run(Mutant("none", (), file, " or ".join(dict.fromkeys(names))), copy)
        assert whole.returncode == _PASSED, whole.stdout[-3000:] + whole.stderr[-3000:]
