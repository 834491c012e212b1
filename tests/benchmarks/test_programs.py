"""Every program runs with the smallest size; the tests do not judge its figures."""

from __future__ import annotations

import pytest

from tests.benchmarks.__main__ import ROWS, main
from tests.benchmarks.measuring import CPU_MS, PEER, Options


# "start" stands for all rows that serve our shop and its floors: they differ in their requests only.
@pytest.mark.parametrize("name", ["start", "client_call", "imports", "sandbox_order"])
def test_a_program_measures_ours_and_its_floor(name: str) -> None:
    row = ROWS[name]
    figures = row.measured(Options(rounds=1, scale=0.0))
    # This little work may take less than a tick of the clock for another process's processor time.
    figures_shown = [figure for figure in row.shown if figure.over != PEER and figure.name != CPU_MS]
    assert all(value > 0 for figure in figures_shown for value in figure.in_rounds(figures))


@pytest.mark.soak
def test_the_whole_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    printed = capsys.readouterr().out
    assert all(row.title in printed for row in ROWS.values())
