"""Repeatable random cases of tests, and their number.

A usual run draws the same cases each time, so that only a change can make a test fail. `--randomly-seed=SEED` draws
others, and so does each soak (`-m soak`), whose number of cases is the environment variable SOAK_COUNT.
A test that draws its cases names the seed in its failure. `tests/conftest.py` sets the same for Hypothesis.
"""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest

_USUAL = 20260101
_OPTION = "--randomly-seed="


def asked_seed(config: pytest.Config) -> int:
    """The seed of a run's cases, in the process that starts the workers."""
    seeds = [
        str(argument).removeprefix(_OPTION)
        for argument in config.invocation_params.args
        if str(argument).startswith(_OPTION)
    ]
    if seeds and seeds[-1].isdecimal():
        return int(seeds[-1])
    return SystemRandom().randrange(2**32) if config.option.markexpr == "soak" else _USUAL


def seed_of(config: pytest.Config) -> int:
    """The seed of this run, the same in every worker; printed, so that a failure shows it."""
    inputs: dict[str, int] = getattr(config, "workerinput", {})
    seed = inputs["seed_of_cases"] if "seed_of_cases" in inputs else asked_seed(config)
    print(f"repeat with --randomly-seed={seed}")
    return seed


def stream(seed: int, name: str) -> Random:
    """Random draws for one purpose, independent of the draws for others."""
    return Random(f"{name} {seed}")  # noqa: S311 - repeatable cases, no secret


def soak_count(usual: int) -> int:
    """The number of cases that a soak draws."""
    return int(os.environ.get("SOAK_COUNT", usual))
