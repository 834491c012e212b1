"""A row of the table: what is measured, between whom, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.benchmarks.measuring import Contender, Figure, Options, Result, in_turns

Contenders = Callable[[Options, str | None], AbstractContextManager[Mapping[str, Contender]]]
"""Sets the contenders of a row up. Called with what `databases.fresh_database` wants."""


@dataclass(frozen=True)
class Row:
    """A row of the table.

    :ivar name: its program's.
    :ivar contenders: sets up who is measured.
    :ivar databases: the kinds of database that it is measured on; without any it is measured once.
    """

    name: str
    title: str
    shown: tuple[Figure, ...]
    contenders: Contenders
    databases: tuple[str, ...] = ()

    def measured(self, options: Options, kind: str | None, database: str | None) -> Result:
        with self.contenders(options, database) as contenders:
            # The first round of each warms it up.
            for contender in contenders.values():
                contender()
            return in_turns(self.name, contenders, self.shown, options, kind)
