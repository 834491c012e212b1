"""Rounds of many merchant accounts in virtual time: an account with failing service or keys hardly delays the others.

The rounds are the real code. Reads take seconds of a clock that only they advance, and results are stored one after
the other, so that every figure is the same in each run.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from queue import Empty
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flask_paycheckout.checkouts.due_reading import AccountLimits, DueRound

READERS = 32
#: Due reads of all healthy accounts together.
DUE = 1600
#: Seconds of a failing read: until its timeout, or including the waits between retries.
FAILURES = {"hangs": 15.0, "refuses its keys": 0.05, "fails": 2.0}
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
FAILING = "failing"


@dataclass(eq=False)
class Attempt:
    """A checkout whose read is due."""

    account: str
    checkout_id: str


class World:
    """Virtual time and its events.

    :param answer: seconds until a healthy account's read is answered.
    :param store: seconds of the one thread that stores results.
    """

    def __init__(self, *, answer: float, store: float) -> None:
        self.now = 0.0
        self.answer, self.store = answer, store
        self.failure: float | None = None
        self.due: dict[str, deque[Attempt]] = {}
        self.settled: dict[str, float] = {}
        """When each read of a healthy account was stored."""

        self.failed_reads = 0
        self.reads = self.most_reads = 0
        """The running reads, and the most at the same time."""

        self.limits = AccountLimits(READERS)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._done: deque[Future[Any]] = deque()
        self._free_at = 0.0

    def owes(self, account: str, reads: int) -> None:
        queue = self.due.setdefault(account, deque())
        queue.extend(Attempt(account, f"{account}-{next(self._numbers)}") for _ in range(reads))

    def at(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (seconds, next(self._numbers), act))

    def runs(self) -> None:
        """Run one round."""
        due: DueRound[None] = DueRound(
            cast(Any, self),
            lambda: BEGAN + timedelta(seconds=self.now),
            self.limits,
            self.due_accounts(),
            cast(Any, SimpleNamespace(submit=self.read)),
            cast(Any, SimpleNamespace(submit=self.stores)),
            lambda attempt: cast(Any, attempt),
            cast(Any, self._settled),
            None,
            now=lambda: self.now,
        )
        due._finished = cast(Any, self)
        for _ in due.run():
            pass

    def _settled(self, attempt: Attempt, read: Future[Any], at: datetime) -> None:
        if read.exception() is None:
            self.settled[attempt.checkout_id] = self.now
        else:
            # The read is due again much later, and enough others are due.
            self.failed_reads += 1

    # The database

    def due_accounts(self, due_by: object = None) -> list[str]:
        return sorted(account for account, due in self.due.items() if due)

    def claim_due(
        self, due_by: object, now: object, limit: int, *, account: str, failing: bool, newest_first: bool
    ) -> list[Attempt]:
        due = self.due.get(account, deque())
        return [due.popleft() for _ in range(0 if failing else min(limit, len(due)))]

    # The threads that read, and the one that stores

    def read(self, attempt: Attempt) -> Future[Any]:
        read: Future[Any] = Future()
        self.reads += 1
        self.most_reads = max(self.most_reads, self.reads)
        read.add_done_callback(self.is_over)
        if attempt.account == FAILING and self.failure is not None:
            self.at(self.now + self.failure, lambda: read.set_exception(TimeoutError()))
        else:
            self.at(self.now + self.answer, lambda: read.set_result(None))
        return read

    def is_over(self, read: Future[Any]) -> None:
        self.reads -= 1

    def stores(self, settle: Callable[..., Any], *answered: Any) -> Future[Any]:
        stored: Future[Any] = Future()
        self._free_at = max(self._free_at, self.now) + self.store
        self.at(self._free_at, lambda: stored.set_result(settle(*answered)))
        return stored

    # The queue of finished reads

    def put(self, done: Future[Any]) -> None:
        self._done.append(done)

    def get(self, timeout: float | None = None) -> Future[Any]:
        until = self.now + (math.inf if timeout is None else timeout)
        while not self._done and self._events and self._events[0][0] <= until:
            self.now, _, act = heapq.heappop(self._events)
            act()
        if not self._done:
            self.now = until
            raise Empty
        return self._done.popleft()


@cache
def seconds_for_all(accounts: int, failure: str | None, *, answer: float, store: float) -> tuple[float, int]:
    """The seconds until every read of these accounts is stored, with one failing account; and its number of failures.

    The failing account was healthy before, so that the limit of its concurrent reads is the highest.
    """
    world = World(answer=answer, store=store)
    names = [f"healthy-{number}" for number in range(accounts)]
    for name in [*names, FAILING]:
        world.owes(name, 200 // accounts + 8)
    world.runs()
    began = world.now
    world.settled.clear()
    for name in names:
        world.owes(name, DUE // accounts)
    if failure is not None:
        world.failure = FAILURES[failure]
        world.owes(FAILING, DUE)
    while len(world.settled) < DUE // accounts * accounts:
        world.runs()
    return max(world.settled.values()) - began, world.failed_reads


@pytest.mark.parametrize(
    ("accounts", "failure"), [(1, "hangs"), (20, "refuses its keys"), (200, "fails"), (200, "hangs")]
)
@pytest.mark.parametrize(("answer", "store"), [(0.05, 0.004), (0.2, 0.001)], ids=["busy", "waiting"])
def test_an_account_that_fails_costs_the_others_less_than_a_tenth(
    accounts: int, failure: str, answer: float, store: float
) -> None:
    """The cases are a process that mostly stores, and one that mostly waits for answers."""
    beside, failed = seconds_for_all(accounts, failure, answer=answer, store=store)
    alone, _ = seconds_for_all(accounts, None, answer=answer, store=store)
    assert alone < 1.2 * DUE * max(store, answer / READERS), "without it, they have all reads for themselves"
    assert alone / beside > 0.9, (alone, beside)
    assert failed <= READERS


def test_an_account_that_becomes_due_while_an_answer_is_late_is_read_in_the_same_round() -> None:
    world = World(answer=0.05, store=0.001)
    world.failure = FAILURES["hangs"]
    world.owes(FAILING, 50)
    world.owes("early", 10)
    world.at(2.0, lambda: world.owes("later", 10))
    world.runs()
    later = [at for checkout_id, at in world.settled.items() if checkout_id.startswith("later")]
    assert len(later) == 10
    assert max(later) < 5
    assert world.failed_reads == 1, "one that hangs is probed once"


def test_answers_that_are_late_never_have_more_than_as_many_threads_again() -> None:
    world = World(answer=3.0, store=0.001)
    for number in range(100):
        world.owes(f"slow-{number}", 20)
    world.runs()
    assert len(world.settled) == 2000
    assert READERS < world.most_reads <= 2 * READERS
