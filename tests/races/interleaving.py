"""Two threads on one database, run statement by statement in every possible order.

Each thread stops before every statement and every commit. The leader lets one thread do one step, and waits until it
stops before its next step, has ended, or waits for a lock of the other thread. If more than one thread could continue,
the run branches; runs are repeated until every branch was taken. A thread that stored or moved a checkout, or moved a
payout, continues only when no other can: its remaining work, running receivers, affects no other thread.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Condition, Thread, get_ident
from typing import Any

from sqlalchemy import Connection, Engine, event, text

_PATIENCE = 60
_LOOK_AGAIN = 0.002
_WRITES = ("INSERT", "UPDATE", "DELETE", "WITH due", "BEGIN IMMEDIATE")
_MOVES = re.compile(
    r"INSERT INTO paycheckout_checkout |UPDATE paycheckout_(checkout|payout) SET ((?! WHERE ).)*\bstatus ?="
)

Act = Callable[[], object]
#: Each branch that a run took: the index of the chosen thread, and the number of threads that could continue.
Branches = list[tuple[int, int]]


class _Led:
    """A thread that waits for permission before each step on the database."""

    def __init__(self, name: str, act: Act) -> None:
        self.name = name
        self.error: BaseException | None = None
        #: The step before which it has stopped; None while it runs.
        self.before: str | None = None
        #: The current step, or the last one.
        self.doing = ""
        #: PostgreSQL's process for this thread, for looking up its lock waits.
        self.backend: int | None = None
        #: Whether it has uncommitted writes: on SQLite no other thread can write at that time.
        self.writing = False
        #: Whether it wrote a checkout's status, and whether it committed that.
        self.moving = self.decided = False
        self._act = act
        self.thread = Thread(target=self._run, name=name, daemon=True)

    def did(self, what: str) -> None:
        """Record a step of its transaction."""
        if what in ("COMMIT", "ROLLBACK"):
            self.decided = self.decided or (self.moving and what == "COMMIT")
            self.writing = self.moving = False
        elif what.startswith(_WRITES):
            self.writing = True
            self.moving = self.moving or bool(_MOVES.match(what))

    def _run(self) -> None:
        try:
            self._act()
        except BaseException as error:
            self.error = error


class _Leader:
    """Leads one run.

    :param branches: the threads to choose at the first branches; after them, the last thread continues.
    :param preemptions: how often a run may change the thread while the last one could continue; None: any number.
    """

    def __init__(self, engine: Engine, acts: Mapping[str, Act], branches: list[int], preemptions: int | None) -> None:
        self._engine = engine
        self._led = [_Led(name, act) for name, act in acts.items()]
        self._wanted = branches
        self._preemptions = preemptions
        self._turn = Condition()
        self.taken: Branches = []
        #: The steps of the run, which a failure shows.
        self.story: list[str] = []

    def run(self) -> None:
        with self._stopped_before_each(), self._engine.connect() as looking:
            for led in self._led:
                led.thread.start()
            last: _Led | None = None
            while True:
                self._await_rest(looking)
                able = [led for led in self._led if self._is_able(led)]
                if not able:
                    break
                last = self._choose(able, last)
                self._let(last)
        for led in self._led:
            led.thread.join(_PATIENCE)
            if led.error is not None:
                raise led.error

    def _choose(self, able: list[_Led], last: _Led | None) -> _Led:
        able = [led for led in able if not led.decided] or able[:1]
        able.sort(key=lambda led: led is not last)
        spent = self._preemptions is not None and self._preemptions <= 0
        if len(able) == 1 or (spent and able[0] is last):
            return able[0]
        index = self._wanted[len(self.taken)] if len(self.taken) < len(self._wanted) else 0
        self.taken.append((index, len(able)))
        if index and able[0] is last and self._preemptions is not None:
            self._preemptions -= 1
        return able[index]

    def _let(self, led: _Led) -> None:
        with self._turn:
            self.story.append(f"{led.name}: {led.before}")
            led.before = None
            self._turn.notify_all()

    def _is_able(self, led: _Led) -> bool:
        if led.before is None:
            return False
        one_writer = self._engine.dialect.name == "sqlite"
        others_write = any(other.writing for other in self._led if other is not led and other.thread.is_alive())
        return not (one_writer and others_write and led.before.startswith(_WRITES))

    def _await_rest(self, looking: Connection) -> None:
        """Wait until each thread has stopped before a statement, has ended, or waits for a lock."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            with self._turn:
                under_way = [led for led in self._led if led.before is None and led.thread.is_alive()]
                if not under_way:
                    return
                # Wait before the first check, so that a statement can have started.
                self._turn.wait(_LOOK_AGAIN)
            under_way = [led for led in under_way if led.before is None and led.thread.is_alive()]
            resting = any(led.before is not None for led in self._led)
            if resting and all(self._waits_for_a_lock(led, looking) for led in under_way):
                return
            assert time.monotonic() < deadline, f"neither done nor waiting for a lock: {self.story}"

    def _waits_for_a_lock(self, led: _Led, looking: Connection) -> bool:
        if self._engine.dialect.name == "sqlite" or led.backend is None:
            return False
        query = text("SELECT cardinality(pg_blocking_pids(:pid))")
        waits = bool(looking.execute(query, {"pid": led.backend}).scalar_one())
        looking.rollback()
        return waits

    @contextmanager
    def _stopped_before_each(self) -> Iterator[None]:
        def before_statement(connection: Connection, cursor: Any, statement: str, *rest: Any) -> None:
            self._stop(connection, " ".join(statement.split()))

        def before_commit(connection: Connection) -> None:
            self._stop(connection, "COMMIT")

        def at_rollback(connection: Connection) -> None:
            led = self._me()
            if led is not None:
                led.doing = "ROLLBACK"

        hooks: dict[str, Callable[..., Any]] = {
            "before_cursor_execute": before_statement,
            "commit": before_commit,
            "rollback": at_rollback,
        }
        for name, hook in hooks.items():
            event.listen(self._engine, name, hook)
        try:
            yield
        finally:
            for name, hook in hooks.items():
                event.remove(self._engine, name, hook)

    def _me(self) -> _Led | None:
        return next((led for led in self._led if led.thread.ident == get_ident()), None)

    def _stop(self, connection: Connection, statement: str) -> None:
        led = self._me()
        if led is None:
            return
        with self._turn:
            if self._engine.dialect.name != "sqlite":
                led.backend = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
            led.did(led.doing)
            led.doing = led.before = statement
            self._turn.notify_all()
            assert self._turn.wait_for(lambda: led.before is None, _PATIENCE), "the leader is gone"


def every_interleaving(
    engine: Engine,
    begin: Callable[[], Mapping[str, Act]],
    check: Callable[[], None],
    *,
    preemptions: int | None = 2,
) -> int:
    """Run acts in the orders of their statements; returns the number of orders.

    :param begin: prepares a run, and returns its acts by name; the same acts on new rows each time.
    :param check: checks the result of a run.
    :param preemptions: the most changes away from a thread that could continue; None: every order.
    """
    waiting: list[list[int]] = [[]]
    runs = 0
    while waiting:
        branches = waiting.pop()
        leader = _Leader(engine, begin(), branches, preemptions)
        try:
            leader.run()
            check()
        except BaseException as error:
            error.add_note("\n".join(["In this order:", *leader.story]))
            raise
        runs += 1
        for at in range(len(branches), len(leader.taken)):
            before = [index for index, _ in leader.taken[:at]]
            index, of = leader.taken[at]
            waiting += [[*before, other] for other in range(of) if other != index]
    print(f"{runs} interleavings")
    return runs
