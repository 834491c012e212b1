"""Contenders measured in turns.

Other load of the machine falls on all contenders of a round alike, so a ratio is taken within each round, and the
median of these ratios is shown. Processor time is far less disturbed by other load than the pace is; both are shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tests.benchmarks.databases import KINDS

OURS, SAME_STACK, PEER = "ours", "same stack", "django-payments"
CPU_MS, MS, PER_SECOND = "CPU ms", "ms", "per second"

Round = Mapping[str, float]
Contender = Callable[[], Round]
"""One round of work; gives its figures by name."""


@dataclass(frozen=True)
class Options:
    """How much to measure.

    :ivar rounds: how often each contender has its turn.
    :ivar scale: the part of the full amount of work that each round does.
    :ivar databases: kinds of database, for the rows that use one.
    :ivar peers: the Python of an environment that has the peers; None to leave them out.
    :ivar tell: prints the figures of a round, when it is over.
    """

    rounds: int = 5
    scale: float = 1.0
    databases: tuple[str, ...] = tuple(KINDS)
    peers: str | None = None
    tell: Callable[[str], None] = print

    def amount(self, full: int, least: int = 2) -> int:
        return max(least, int(full * self.scale))


@dataclass(frozen=True)
class Figure:
    """What a row shows: our figure itself, or its ratio to another contender's."""

    name: str
    over: str | None = None

    def __str__(self) -> str:
        return self.name if self.over is None else f"{self.name} to {self.over}'s"

    def in_rounds(self, figures: Mapping[str, Mapping[str, list[float]]]) -> list[float]:
        """The value in each round; none when a contender is missing."""
        ours = figures[OURS].get(self.name, [])
        if self.over is None:
            return ours
        others = figures.get(self.over, {}).get(self.name, [])
        return [a / b for a, b in zip(ours, others, strict=True)] if others else []


@dataclass(frozen=True)
class Result:
    """What was measured of one row.

    :ivar figures: for each contender, for each figure, its value in every round.
    """

    row: str
    database: str | None
    figures: dict[str, dict[str, list[float]]]
    shown: tuple[Figure, ...]


def in_turns(
    row: str,
    contenders: Mapping[str, Contender],
    shown: tuple[Figure, ...],
    options: Options,
    database: str | None = None,
) -> Result:
    """Every contender once in each round, each round beginning with another one."""
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in contenders}
    names = list(contenders)
    for number in range(options.rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            for figure, value in contenders[name]().items():
                figures[name].setdefault(figure, []).append(value)
        told = "; ".join(f"{name} {_last(figures[name])}" for name in names)
        options.tell(f"{' '.join(filter(None, (row, database)))}: round {number + 1} of {options.rounds}: {told}")
    return Result(row, database, figures, shown)


def _last(figures: Mapping[str, Sequence[float]]) -> str:
    return ", ".join(f"{short(values[-1])} {figure}" for figure, values in figures.items())


def short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def repeated(work: Callable[[], object], times: int) -> Contender:
    """A contender that does some work in this process so many times; figures of one time."""
    return partial(_repeat, work, times)


def _repeat(work: Callable[[], object], times: int) -> Round:
    began, spent = time.perf_counter(), time.process_time()
    for _ in range(times):
        work()
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    return {PER_SECOND: times / seconds, MS: 1000 * seconds / times, CPU_MS: 1000 * processor / times}
