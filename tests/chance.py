"""Chance that can be repeated: the seed of a run, and how many cases it draws.

A test that draws its cases names the seed in its failure. The same cases come again with `--randomly-seed=SEED`; a
soak (`-m soak`) draws as many as the environment variable SOAK_COUNT says.
"""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest


def seed_of(config: pytest.Config) -> int:
    """The seed of this run, the same in every worker; printed, so that a failure shows it."""
    given = config.getoption("randomly_seed", default=None)
    seed = given if isinstance(given, int) else SystemRandom().randrange(2**32)
    print(f"repeat with --randomly-seed={seed}")
    return seed


def stream(seed: int, name: str) -> Random:
    """Draws of one purpose, which those of other purposes do not shift."""
    return Random(f"{name} {seed}")  # noqa: S311 - repeatable cases, no secret


def soak_count(usual: int) -> int:
    """How many cases a soak draws."""
    return int(os.environ.get("SOAK_COUNT", usual))
