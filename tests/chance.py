"""Chance that can be repeated: which cases a test draws, and how many.

A usual run draws the same cases each time, so that what fails is the fault of a change. Others come with
`--randomly-seed=SEED`, and with each soak (`-m soak`), which draws as many as the environment variable SOAK_COUNT says.
A test that draws its cases names the seed in its failure. `tests/conftest.py` sets the same for Hypothesis.
"""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest

_USUAL = 20260101
_OPTION = "--randomly-seed="


def asked_seed(config: pytest.Config) -> int:
    """The seed of the cases of a run, as the process that starts the workers finds it."""
    given = [str(one).removeprefix(_OPTION) for one in config.invocation_params.args if str(one).startswith(_OPTION)]
    if given and given[-1].isdecimal():
        return int(given[-1])
    return SystemRandom().randrange(2**32) if config.option.markexpr == "soak" else _USUAL


def seed_of(config: pytest.Config) -> int:
    """The seed of this run, the same in every worker; printed, so that a failure shows it."""
    given: dict[str, int] = getattr(config, "workerinput", {})
    seed = given["seed_of_cases"] if "seed_of_cases" in given else asked_seed(config)
    print(f"repeat with --randomly-seed={seed}")
    return seed


def stream(seed: int, name: str) -> Random:
    """Draws of one purpose, which those of other purposes do not shift."""
    return Random(f"{name} {seed}")  # noqa: S311 - repeatable cases, no secret


def soak_count(usual: int) -> int:
    """How many cases a soak draws."""
    return int(os.environ.get("SOAK_COUNT", usual))
