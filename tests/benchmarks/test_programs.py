"""Every program runs, on the smallest of sizes; nobody judges what it measures."""

from __future__ import annotations

import pytest

from tests.benchmarks.__main__ import ROWS
from tests.benchmarks.measuring import CPU_MS, OURS, SAME_STACK, Options
from tests.benchmarks.program import main

BY_NAME = {row.name: row for row in ROWS}
TINY = Options(rounds=1, scale=0.0)
# Each starts servers, which the default run has no time for; what they ask for is asked without a server below.
_SERVED = {
    "first_webhook",
    "repeated_webhook",
    "status",
    "sandbox_writes",
}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in _SERVED])
def test_a_program_measures_ours_and_its_floor(name: str) -> None:
    result = BY_NAME[name].measured(TINY, None, None)
    # So little work may take less than a tick of the clock that counts another process's processor time.
    seconds = [figures[name] for figures in result.figures.values() for name in figures if name != CPU_MS]
    assert all(value > 0 for values in seconds for value in values)
    assert OURS in result.figures
    shown = [figure for figure in result.shown if figure.over in (None, SAME_STACK) and figure.name != CPU_MS]
    assert all(figure.in_rounds(result.figures) for figure in shown)


@pytest.mark.soak
def test_the_whole_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ROWS, ["--rounds", "1", "--scale", "0.02"]) == 0
    printed = capsys.readouterr().out
    assert all(row.title in printed for row in ROWS)
