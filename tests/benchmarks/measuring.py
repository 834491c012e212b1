"""Contenders measured in turns.

Other load of the machine affects all contenders of a round alike, so a ratio is computed within each round, and the
median of these ratios is shown. Other load affects processor time far less than the pace; both are shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

OURS, SAME_STACK, SAME_PROMISES, PEER = "ours", "same stack", "same promises", "django-payments"
CPU_MS, MS, PER_SECOND = "CPU ms", "ms", "per second"

Contender = Callable[[], Mapping[str, float]]
"""One round of work, which returns its figures by name."""

Figures = dict[str, dict[str, list[float]]]
"""For each contender, for each figure, its value in every round."""


@dataclass(frozen=True)
class Options:
    """How much to measure.

    :ivar rounds: how often each contender has its turn.
    :ivar scale: the part of the full amount of work that each round does.
    :ivar peers: the Python of an environment that has the peers; None to leave them out.
    """

    rounds: int
    scale: float
    peers: str | None = None

    def amount(self, full: int, least: int = 2) -> int:
        return max(least, int(full * self.scale))


@dataclass(frozen=True)
class Figure:
    """The figure in a row: our figure itself, or its ratio to another contender's."""

    name: str
    over: str | None = None

    def __str__(self) -> str:
        return self.name if self.over is None else f"{self.name} to {self.over}'s"

    def in_rounds(self, figures: Figures) -> list[float]:
        """The value in each round; empty if a contender is missing."""
        ours = figures[OURS][self.name]
        if self.over is None:
            return ours
        others = figures.get(self.over)
        return [a / b for a, b in zip(ours, others[self.name], strict=True)] if others else []


@dataclass(frozen=True)
class Row:
    """A row of the table: its work, its contenders, and the figures that it shows.

    :ivar contenders: sets up the contenders. Called with the argument of `databases.fresh_database`.
    :ivar on_databases: whether it is measured on each kind of database.
    """

    name: str
    title: str
    shown: tuple[Figure, ...]
    contenders: Callable[[Options, str | None], AbstractContextManager[Mapping[str, Contender]]]
    on_databases: bool = False

    def measured(self, options: Options, database: str | None = None) -> Figures:
        """Measure every contender once in each round; each round begins with another contender."""
        with self.contenders(options, database) as contenders:
            # The first round of each warms it up.
            for contender in contenders.values():
                contender()
            figures: Figures = {name: {} for name in contenders}
            names = list(contenders)
            for number in range(options.rounds):
                first = number % len(names)
                for name in names[first:] + names[:first]:
                    by_figure = contenders[name]()
                    for figure, value in by_figure.items():
                        figures[name].setdefault(figure, []).append(value)
                    told = ", ".join(f"{short(value)} {figure}" for figure, value in by_figure.items())
                    print(f"{self.name}, round {number + 1} of {options.rounds}, {name}: {told}", file=sys.stderr)
            return figures


def short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def repeated(work: Callable[[], object], times: int) -> Contender:
    """A contender that repeats some work in this process; its figures are for one repetition."""
    return partial(_repeat, work, times)


def _repeat(work: Callable[[], object], times: int) -> dict[str, float]:
    began, spent = time.perf_counter(), time.process_time()
    for _ in range(times):
        work()
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    return {MS: 1000 * seconds / times, CPU_MS: 1000 * processor / times}
