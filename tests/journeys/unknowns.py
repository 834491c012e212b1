"""Ways to start a sandbox under which a journey walks every value of every switch."""

from __future__ import annotations

from collections.abc import Collection
from itertools import zip_longest

from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS


def settings(alone: Collection[str]) -> dict[str, dict[str, str]]:
    """By name the switches of each start: those that are turned alone, then all others together.

    :param alone: switches that may change what the journey sees of others.
    """
    others = [
        [(unknown.name, value) for value in unknown.alternatives]
        for unknown in ASSUMPTIONS
        if unknown.name not in alone
    ]
    together = {
        f"others, {number}": dict(pair for pair in turned if pair is not None)
        for number, turned in enumerate(zip_longest(*others), start=1)
    }
    return together | {
        f"{unknown.name}={value}": {unknown.name: value}
        for unknown in ASSUMPTIONS
        if unknown.name in alone
        for value in unknown.alternatives
    }
