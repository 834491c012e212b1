"""Every program runs, on the smallest of sizes; nobody judges what it measures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.benchmarks import reconcile
from tests.benchmarks.__main__ import ROWS
from tests.benchmarks.databases import fresh_database
from tests.benchmarks.measuring import CPU_MS, FLOOR, OURS, Goal, Options, Result
from tests.benchmarks.program import main
from tests.benchmarks.reporting import as_markdown
from tests.benchmarks.row import Row

BY_NAME = {row.name: row for row in ROWS}
TINY = Options(rounds=1, scale=0.0, say=lambda what: None)
# Each starts servers, which the default run has no time for; what they ask for is asked without a server below.
_SERVED = {"first_webhook", "repeated_webhook", "status", "memory", "sandbox_writes"}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in _SERVED])
def test_a_program_measures_ours_and_its_floor(name: str) -> None:
    result = BY_NAME[name].measured(TINY, None, None)
    # So little work may take less than a tick of the clock that counts another process's processor time.
    seconds = [figures[name] for figures in result.figures.values() for name in figures if name != CPU_MS]
    assert all(value > 0 for values in seconds for value in values)
    assert OURS in result.figures
    judged = [goal for goal in result.goals if goal.over in (None, FLOOR) and goal.figure != CPU_MS]
    assert all(goal.measured(result.figures) for goal in judged)


@pytest.mark.parametrize("name", [name for name, row in BY_NAME.items() if row.profiled is not None])
def test_what_is_profiled_works(name: str) -> None:
    profiled = BY_NAME[name].profiled
    assert profiled is not None
    with fresh_database(None) as address, profiled(address) as work:
        work()
        work()


def test_reconcile_is_measured_beside_the_least_possible_work(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["--stored", "20", "40", "--due", "10", "--latency", "0", "--rounds", "1", "--readers", "2"]
    assert reconcile.main([*tiny, "--floor", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [(result["stored"], result["due"]) for result in results] == [(20, 10), (40, 10)]
    for result in results:
        assert result["settled_per_second"] > 0
        assert result["floor"]["settled_per_second"] > 0
        assert any("ix_paycheckout_checkout_next_read_at" in step for step in result["plan"])


@pytest.mark.soak
def test_the_whole_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ROWS, ["--rounds", "1", "--scale", "0.02", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert {result["row"] for result in results} == set(BY_NAME)


def test_every_program_is_a_row() -> None:
    folder = Path(__file__).parent
    programs = {file.stem for file in folder.glob("*.py") if re.search(r"^ROW = ", file.read_text(), re.MULTILINE)}
    assert programs == set(BY_NAME)


def _result(ours: list[float], floor: list[float], *goals: Goal) -> Result:
    return Result("start", "sqlite", {OURS: {CPU_MS: ours}, FLOOR: {CPU_MS: floor}}, goals)


def test_a_ratio_is_taken_within_each_round() -> None:
    # Other load made the second round three times as slow for both.
    result = _result([2.0, 6.0, 3.0], [1.0, 3.0, 1.0], Goal(CPU_MS, over=FLOOR, at_most=2.0))
    (goal,) = result.goals
    assert goal.measured(result.figures) == 2.0
    assert result.as_json()["goals"] == [{"goal": "at most 2x floor's CPU ms", "measured": 2.0, "reached": True}]


def test_a_table_tells_what_was_not_reached_and_what_was_not_measured() -> None:
    goals = (Goal(CPU_MS, over=FLOOR, at_most=1.5), Goal(CPU_MS, over="moto", at_least=2))
    table = as_markdown({"start": Row("start", "a start", goals, None)}, [_result([2.0], [1.0], *goals)])  # type: ignore[arg-type]  # nothing is set up here
    assert table.splitlines()[2:] == [
        "| a start | sqlite | at most 1.5x floor's CPU ms | 2x | no |",
        "| a start | sqlite | at least 2x moto's CPU ms | not measured |  |",
    ]
