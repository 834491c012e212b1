"""Every program runs, on the smallest of sizes; nobody judges what it measures."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from tests.benchmarks.__main__ import ROWS
from tests.benchmarks.databases import SQLITE, SQLITE_WITHOUT_WAL, database_kinds, fresh_database
from tests.benchmarks.measuring import CPU_MS, FLOOR, MS, OURS, PER_SECOND, SAME_STACK, Goal, Options, in_turns
from tests.benchmarks.program import main

BY_NAME = {row.name: row for row in ROWS}
TINY = Options(rounds=1, scale=0.0, say=lambda what: None)
# Each starts servers, which the default run has no time for; what they ask for is asked without a server below.
_SERVED = {
    "first_webhook",
    "first_webhook_plain",
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
    judged = [goal for goal in result.goals if goal.over in (None, FLOOR, SAME_STACK) and goal.figure != CPU_MS]
    assert all(goal.in_rounds(result.figures) for goal in judged)


def test_a_goal_is_reached_if_it_holds_in_four_of_five_rounds() -> None:
    goal = Goal(PER_SECOND, over="peer", at_least=1.5)
    figures = {OURS: {PER_SECOND: [16.0, 15.0, 30.0, 20.0, 14.0]}, "peer": {PER_SECOND: [10.0] * 5}}
    values = goal.in_rounds(figures)
    assert (goal.held(values), goal.is_reached(values)) == (4, True)
    assert not goal.is_reached([*values[1:], 1.4])
    assert not goal.is_reached([1.4, 1.6, 1.6])
    assert goal.in_rounds({OURS: figures[OURS]}) == []


def test_rounds_are_told_when_they_are_over() -> None:
    told: list[str] = []
    options = Options(rounds=2, say=lambda what: None, tell=told.append)
    in_turns("row", {OURS: lambda: {MS: 1.0 + len(told)}, "floor": lambda: {MS: 1.0}}, (), options)
    assert told == [
        "row: round 1 of 2: ours 1 ms; floor 1 ms",
        "row: round 2 of 2: ours 2 ms; floor 1 ms",
    ]


@pytest.mark.parametrize("kind", [SQLITE, SQLITE_WITHOUT_WAL])
def test_a_sqlite_file_has_the_journal_of_its_kind(kind: str) -> None:
    with (
        database_kinds((kind,)) as kinds,
        fresh_database(kinds[kind]) as address,
        sa.create_engine(address).connect() as connection,
    ):
        assert (connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal") == (kind == SQLITE)


@pytest.mark.soak
def test_the_whole_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ROWS, ["--rounds", "1", "--scale", "0.02"]) == 0
    printed = capsys.readouterr().out
    assert all(row.title in printed for row in ROWS)
