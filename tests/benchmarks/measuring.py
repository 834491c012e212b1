"""Contenders measured in turns, and what their figures mean for the goals of a row.

Whatever else the machine does falls on all contenders of a round alike, so a ratio is taken within each round. The
median of these ratios is shown, and a goal is reached if it holds in four of five rounds. Processor time is far less
disturbed by other load than the pace is; both are shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tests.benchmarks.databases import KINDS

OURS, FLOOR, SAME_STACK = "ours", "floor", "same stack"
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
    :ivar say: shows what is being done.
    :ivar tell: prints the figures of a round, when it is over.
    """

    rounds: int = 5
    scale: float = 1.0
    databases: tuple[str, ...] = tuple(KINDS)
    peers: str | None = None
    say: Callable[[str], None] = print
    tell: Callable[[str], None] = print

    def amount(self, full: int, least: int = 2) -> int:
        return max(least, int(full * self.scale))


@dataclass(frozen=True)
class Goal:
    """What a row is to reach, for our figure itself or for its ratio to another contender's.

    Without a bound it is only shown, to be compared with other runs.
    """

    figure: str
    over: str | None = None
    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        if not self.is_judged:
            return self.figure if self.over is None else f"{self.figure} to {self.over}'s"
        bound = f"at least {self.at_least:g}" if self.at_least is not None else f"at most {self.at_most:g}"
        return f"{bound} {self.figure}" if self.over is None else f"{bound}x {self.over}'s {self.figure}"

    @property
    def is_judged(self) -> bool:
        return self.at_least is not None or self.at_most is not None

    def in_rounds(self, figures: Mapping[str, Mapping[str, list[float]]]) -> list[float]:
        """The value in each round; none when a contender is missing."""
        ours = figures[OURS].get(self.figure, [])
        if self.over is None:
            return ours
        others = figures.get(self.over, {}).get(self.figure, [])
        return [a / b for a, b in zip(ours, others, strict=True)] if others else []

    def held(self, values: Sequence[float]) -> int:
        """In how many rounds the goal holds."""
        return sum(map(self._holds, values))

    def is_reached(self, values: Sequence[float]) -> bool:
        return 5 * self.held(values) >= 4 * len(values)

    def _holds(self, value: float) -> bool:
        return value >= self.at_least if self.at_least is not None else value <= (self.at_most or 0.0)


@dataclass(frozen=True)
class Result:
    """What was measured of one row.

    :ivar figures: for each contender, for each figure, its value in every round.
    """

    row: str
    database: str | None
    figures: dict[str, dict[str, list[float]]]
    goals: tuple[Goal, ...]


def in_turns(
    row: str,
    contenders: Mapping[str, Contender],
    goals: tuple[Goal, ...],
    options: Options,
    database: str | None = None,
) -> Result:
    """Every contender once in each round, each round beginning with another one."""
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in contenders}
    names = list(contenders)
    for number in range(options.rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            options.say(f"{row} {database or ''}: round {number + 1} of {options.rounds}, {name}")
            for figure, value in contenders[name]().items():
                figures[name].setdefault(figure, []).append(value)
        told = "; ".join(f"{name} {_last(figures[name])}" for name in names)
        options.tell(f"{' '.join(filter(None, (row, database)))}: round {number + 1} of {options.rounds}: {told}")
    return Result(row, database, figures, goals)


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
