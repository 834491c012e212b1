"""Shop, customers, a failing service and time in any order: all invariants hold after every step."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import time_machine
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.chance import seed_of, soak_count
from tests.states.machine import Machine
from tests.states.world import World

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVERY_CHANGE = 300
SOAK = 20_000


def run(host: str, drawn: int, runs: int, steps: int) -> None:
    @seed(drawn)
    class Run(Machine):
        world = World(host)

    bounds = settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    # Only the steps advance the time, so that runs are the same on slow and fast machines.
    with time_machine.travel(START, tick=False):
        run_state_machine_as_test(Run, settings=bounds)


def test_the_invariants_hold_after_every_step(host: str, pytestconfig: pytest.Config) -> None:
    run(host, seed_of(pytestconfig), EVERY_CHANGE, 40)


@pytest.mark.soak
def test_the_invariants_hold_in_a_long_run(host: str, pytestconfig: pytest.Config) -> None:
    run(host, seed_of(pytestconfig), soak_count(SOAK), 100)
