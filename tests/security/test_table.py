"""The table of threats: each has a defence and tests, every test exists and runs, every removal is one of theirs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.security.table import THREATS

ROOT = Path(__file__).parents[2]
_NOT_RUN = {"skip", "skipif", "xfail", "soak"}
_SECONDS = 300


@pytest.fixture(scope="module")
def collected() -> dict[str, list[str]]:
    """Every test in the files that threats name, with its marks."""
    files = sorted({test.partition("::")[0] for threat in THREATS for test in threat.tests})
    command = [sys.executable, "-m", "tests.rules.collecting", *(name for name in files if (ROOT / name).is_file())]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    marks = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(marks, dict)
    return marks


def test_each_test_that_a_threat_names_is_collected(collected: dict[str, list[str]]) -> None:
    named = [test for threat in THREATS for test in threat.tests]
    assert [test for test in named if test not in collected] == []


def test_none_of_them_is_left_out_of_runs(collected: dict[str, list[str]]) -> None:
    named = [test for threat in THREATS for test in threat.tests]
    assert [test for test in named if _NOT_RUN & set(collected.get(test, ()))] == []


def test_each_threat_has_a_defence_with_tests() -> None:
    assert [threat.name for threat in THREATS if not (threat.tests and threat.defence.endswith("."))] == []


def test_no_name_is_used_twice() -> None:
    names = [threat.name for threat in THREATS]
    names += [removal.takes_away for threat in THREATS for removal in threat.removals]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_each_removal_is_noticed_by_a_test_of_its_threat() -> None:
    assert [
        removal.takes_away
        for threat in THREATS
        for removal in threat.removals
        if removal.noticed_by.partition("[")[0] not in threat.tests
    ] == []
