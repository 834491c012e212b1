"""Forks one process after the other, each of which does an act and dies in it, and checks the rows that they leave.

It is a separate process, so that it has one thread, no part of pytest, and all modules imported and compiled: a child
does its act and dies within a few hundredths of a second. It prints its results as JSON:

    python -m tests.crash.nursery '{"address": "sqlite:////tmp/shop.db", "folder": "/tmp/record", "acts": ["start"]}'

The next process knows only the rows that are left. Recovery is therefore tried once for each different state that an
act leaves, not once for each crash: states that differ only in random ids recover alike.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from multiprocessing import Pipe
from pathlib import Path

from tests.crash.acts import ACTS, Act, perform
from tests.crash.checker import complaints, complaints_at_rest, money_without_an_order
from tests.crash.databases import Rows, database_at
from tests.crash.points import DEAD, Fate, Passes, watch_database, watch_instructions
from tests.crash.world import World
from tests.hosts import HOSTS
from tests.payouts.shop import comes_to_rest

# Seconds. After a crash, the claims of reads and the leases of events expire after 60.
_CLAIM, _LEASE = 61, 61
_LONGEST_LIFE = 60
_MOST_COMPLAINTS = 10
_WRITTEN = "written{}"
#: The random ids of events, and the random parts of references of requests and refunds.
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|(?:[0-9a-f]{9}-)?[0-9a-f]{16}")


@dataclass(frozen=True)
class Order:
    """The acts to try, and how.

    :ivar fate: "death", on PostgreSQL before and after each call of the database and the service, on SQLite at each
        bytecode instruction; "one error" of the database, in each call before and after it is done.
    :ivar every: only each n-th of these points is tried.
    :ivar host: the shop's SQLAlchemy.
    """

    address: str
    folder: str
    acts: list[str] = field(default_factory=lambda: list(ACTS))
    fate: str = "death"
    every: int = 1
    host: str = HOSTS[0]


@dataclass
class Found:
    """The results of the tries.

    :ivar points: the number of points at which a process died or an error was raised, by act.
    :ivar left_behind: the number of different states that they left, by act.
    :ivar seconds: the processor time, including the children's.
    """

    points: dict[str, int] = field(default_factory=dict)
    left_behind: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class _Begun:
    """An act whose preparation is done."""

    name: str
    act: Act
    kept: str
    at: datetime


class Nursery:
    """Tries the acts of one order."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._folder = Path(order.folder)
        self._record, self._note = self._folder / "record", self._folder / "note"
        self._record.touch()
        self._database = database_at(order.address)
        self._world = World(order.address, self._record, order.host)
        self._world.opens()
        self._keep("nothing")
        self._morning = self._world.clock.now

    def run(self) -> Found:
        """Try each act; stop at the first few broken promises."""
        results = Found()
        for name in self._order.acts:
            try:
                begun = self._begin(name)
            except Exception:
                results.wrong.append(f"{name} goes wrong though nothing happens to it: {traceback.format_exc()}")
                break
            self._try(begun, results)
            if len(results.wrong) >= _MOST_COMPLAINTS:
                break
        results.seconds = round(sum(os.times()[:4]), 1)
        return results

    def _begin(self, name: str) -> _Begun:
        """Save the state before the act; then do act and recovery once, so that each child has all code loaded."""
        self._put_back("nothing")
        self._world.clock.now = self._morning
        act = ACTS[name]
        act.before(self._world)
        begun = _Begun(name, act, f"before{self._order.acts.index(name)}", self._world.clock.now)
        self._keep(begun.kept)
        perform(act, self._world)
        _recover(self._world, act)
        # No connection may cross a fork.
        self._world.engine.dispose()
        # Garbage collection would touch, and so copy, the memory that a child shares with its parent.
        gc.disable()
        gc.freeze()
        return begun

    def _try(self, begun: _Begun, results: Found) -> None:
        left_behind: set[str] = set()
        is_kept = self._order.fate == "death" and self._order.address.startswith("sqlite")
        points = self._written(begun) if is_kept else self._points(begun)
        for at, where in points:
            if is_kept:
                self._put_back(_WRITTEN.format(at))
                wrong = self._looks(begun, left_behind)
            else:
                wrong = self._meets_fate(begun, at) + self._looks(begun, left_behind)
            results.wrong += [f"{begun.name}, {self._order.fate} {where}: {what}" for what in wrong]
            if len(results.wrong) >= _MOST_COMPLAINTS:
                break
        results.points[begun.name] = len(points)
        results.left_behind[begun.name] = len(left_behind)

    def _looks(self, begun: _Begun, left_behind: set[str]) -> list[str]:
        """The broken promises in the present rows, and in the recovery from them unless it was tried before."""
        rows = self._database.rows()
        wrong = complaints(rows, self._world.record)
        left = self._left_behind(rows)
        if left not in left_behind:
            left_behind.add(left)
            wrong += self._recovers(begun)
        return wrong

    def _points(self, begun: _Begun) -> list[tuple[int, str]]:
        """The points at which the process dies or an error is raised, each with a name."""
        passed: list[tuple[str, bool, int]] = []

        def count() -> None:
            self._watch(lambda where, may_fail: passed.append((where, may_fail, self._record.stat().st_size)))
            perform(begun.act, self._world)
            self._write(passed)

        self._live(begun, count)
        passed = json.loads(self._note.read_text())
        dies = self._order.fate == "death"
        # A death before a call leaves the same state as one after the previous call, unless the record grew in between.
        same = {at for at in range(1, len(passed)) if dies and passed[at][0].startswith("before ")}
        same = {at for at in same if passed[at - 1][0].startswith("after ") and passed[at - 1][2] == passed[at][2]}
        points = [(at, where) for at, (where, may_fail, _) in enumerate(passed) if dies or may_fail]
        return [point for point in points if point[0] not in same][:: self._order.every]

    def _watch(self, passes: Passes) -> None:
        watch_database(self._world.engine, passes)
        self._world.service.passes = lambda where: passes(where, False)

    def _written(self, begun: _Begun) -> list[tuple[int, str]]:
        """The instructions before which this process wrote anything; the state is saved under the number of each."""
        here, there = Pipe()
        instructions: list[tuple[int, str]] = []

        def wrote(where: str) -> None:
            there.send(where)
            there.recv()

        def live() -> None:
            watch_instructions(wrote)
            perform(begun.act, self._world)
            sys.settrace(None)

        def keeps() -> None:
            there.close()
            with here, suppress(EOFError):
                while True:
                    where = here.recv()
                    self._keep(_WRITTEN.format(len(instructions)))
                    instructions.append((len(instructions), f"at {where}"))
                    here.send(None)

        if code := self._live(begun, live, keeps):
            raise RuntimeError(f"{begun.name} left with {code}: {self._note.read_text()}")
        return instructions

    # One death or error, and what it left

    def _meets_fate(self, begun: _Begun, at: int) -> list[str]:
        dies = self._order.fate == "death"

        def live() -> None:
            self._watch(Fate(at, dies))
            perform(begun.act, self._world)

        code = self._live(begun, live)
        if code != (DEAD if dies else 0):
            return [f"the process left with {code}: {self._note.read_text()}"]
        return []

    def _left_behind(self, rows: Rows) -> str:
        """All that the next process can read, with random ids numbered in the order of their appearance."""
        known = [[{name: row[name] for name in row if name != "id"} for row in found] for found in rows.values()]
        numbers: dict[str, str] = {}
        everything = json.dumps([known, self._world.record.lines()], default=str)
        return _RANDOM.sub(lambda found: numbers.setdefault(found.group(), f"id {len(numbers)}"), everything)

    def _recovers(self, begun: _Begun) -> list[str]:
        def live() -> None:
            database, record = database_at(self._order.address), self._world.record
            wrong = _recover(self._world, begun.act, lambda: money_without_an_order(database.rows(), record))
            self._write([*wrong, *complaints_at_rest(database.rows(), record, begun.act.ends)])

        code = self._child(begun, live)
        note = self._note.read_text()
        return [f"recovery left with {code}: {note}"] if code else list(json.loads(note))

    # Children

    def _live(self, begun: _Begun, lives: Callable[[], None], meanwhile: Callable[[], None] = lambda: None) -> int:
        self._put_back(begun.kept)
        return self._child(begun, lives, meanwhile)

    def _child(self, begun: _Begun, lives: Callable[[], None], meanwhile: Callable[[], None] = lambda: None) -> int:
        """Run `lives` in a forked process; returns its exit code."""
        self._note.write_text("it wrote no note")
        child = os.fork()
        if child == 0:
            signal.alarm(_LONGEST_LIFE)
            try:
                self._world.clock.now = begun.at
                lives()
            except BaseException:
                self._note.write_text(traceback.format_exc())
                os._exit(1)
            os._exit(0)
        meanwhile()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _keep(self, name: str) -> None:
        self._world.engine.dispose()
        self._database.keep(name)
        shutil.copyfile(self._record, self._record.with_suffix(f".{name}"))

    def _put_back(self, name: str) -> None:
        self._world.engine.dispose()
        self._database.put_back(name)
        shutil.copyfile(self._record.with_suffix(f".{name}"), self._record)

    def _write(self, note: object) -> None:
        self._note.write_text(json.dumps(note))


def _recover(world: World, act: Act, money: Callable[[], list[str]] = list) -> list[str]:
    """Start the shop again and run reconcile; then repeat all requests, which must change nothing."""
    act.after(world)
    world.reconciles()
    world.reconciles(seconds=_CLAIM)
    wrong = money()
    world.reconciles(seconds=_LEASE)
    for checkout_id in world.record.urls:
        world.webhook(checkout_id)
    for order_id in act.ends:
        world.looks_at_status(order_id)
    comes_to_rest(world, world.service.books)
    last = world.reconciles(seconds=_CLAIM)
    if last.changed or last.delivered or last.failed:
        wrong.append(f"the last round had no peace: {last}")
    return wrong


if __name__ == "__main__":
    # Intended failures would be logged thousands of times.
    logging.disable(logging.CRITICAL)
    print(json.dumps(asdict(Nursery(Order(**json.loads(sys.argv[1]))).run())))
