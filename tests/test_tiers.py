"""README's test command: it uses all cores, skips the attacks, and ends with a short summary."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

TIERS = {
    "tests/crash/test_death.py": "def test_crash(): pass",
    "tests/test_shop.py": """
import pytest

def test_usual(): pass

@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_database(database): pass

@pytest.mark.slow("programs")
def test_program(): pass
""",
}


@pytest.mark.slow("runs of pytest")
@pytest.mark.parametrize(
    ("arguments", "ran"),
    [(["-n", "2"], 2), (["--rest"], 3), (["--all"], 5), (["tests/test_shop.py"], 4)],
    ids=["usual", "rest", "all", "file"],
)
def test_a_whole_run_leaves_out_the_attacks_and_says_so(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: list[str], ran: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Other plugins take seconds to load in each process.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\ntestpaths = tests")
    pytester.makeconftest("from tests.tiers import *")
    for name, text in TIERS.items():
        file = pytester.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    run = pytester.runpytest_subprocess("-p", "xdist", "-p", "no:cacheprovider", *arguments, timeout=300)
    run.assert_outcomes(passed=ran)
    assert any(line.startswith("Left out") for line in run.outlines) is (ran == 2)
