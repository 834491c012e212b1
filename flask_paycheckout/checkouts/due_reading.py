"""The reads of one reconcile round: claimed in batches, made by threads, and applied as their answers arrive.

Each merchant account has its own limit, and the accounts take turns, so that an account whose calls hang or whose keys
are refused does not delay the others. A read whose answer is late gives up its slot to the others.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import Deposit, NotFound
from flask_paycheckout.clock import Clock

# Seconds after which an answer is late: its slot goes to other reads, also to reads that have become due meanwhile.
_LATE = 1.0
Result = TypeVar("Result")
Read = Future[Deposit | None]

# One failure may concern a single checkout; consecutive failures of three different checkouts are an outage.
_PROBES = 3
# Each of several accounts may have a quarter of the reads under way, however many accounts there are.
_SHARE = 4
# The maximum number of accounts that the limits remember.
_MOST_KEPT = 10_000


@dataclass
class _Answers:
    """The record of the answers to one account's reads."""

    failures: int = 0
    """The number of consecutive reads without a reliable answer."""

    answered: bool = False
    """Whether a read was answered in this round."""

    window: int = 1
    """The number of reads that may be under way: one more after an answer, half after a failure, like TCP's window."""


@dataclass(eq=False)
class AccountLimits:
    """Limits the reads that one process may have under way, for each merchant account and for all together.

    With several accounts, a read whose answer is late takes no slot from the others: it counts for its own account
    only. So a process has at most twice as many reads under way.

    :param most: the upper limit for all accounts together.
    """

    most: int
    _answers: dict[str, _Answers] = field(default_factory=dict, init=False)
    _under_way: Counter[str] = field(default_factory=Counter, init=False)
    _late: Counter[str] = field(default_factory=Counter, init=False)
    """The reads under way whose answers are late; `_under_way` counts the others."""

    _working: set[str] = field(default_factory=set, init=False)
    """The accounts of this round that may have more to read."""

    def begin_round(self, accounts: Collection[str]) -> None:
        """Begin a round that reads deposits of these accounts."""
        if len(self._answers) > _MOST_KEPT:
            self._answers.clear()
        self._under_way.clear()
        self._late.clear()
        self._working.clear()
        self.add(accounts)

    def add(self, accounts: Collection[str]) -> None:
        """Add accounts to the round; an account that failed begins with a single probe."""
        for account in accounts:
            answers = self._answers.setdefault(account, _Answers())
            if account not in self._working and not self._late[account]:
                answers.answered = False
                if answers.failures >= _PROBES:
                    answers.failures, answers.window = _PROBES - 1, 1
        self._working.update(accounts)

    @property
    def has_room(self) -> bool:
        """Whether enough slots are free for all accounts together to look for reads of each."""
        return self._free >= max(1, self.most // _SHARE // 2)

    def room(self, account: str) -> int:
        """The number of reads of an account that may be claimed now, at most half of its limit.

        It is 0 while the free slots are too few for a statement. If one claim took more than half, the slots that
        become free soon after would be too few for another claim, and stay unused.
        """
        if self.closed(account):
            return 0
        size = min(self._answers[account].window, self._share_of(account))
        room = min(size - self._under_way[account] - self._late[account], self._free)
        return min(room, (size + 1) // 2) if room >= max(1, size // 2) else 0

    def troubled(self, account: str) -> bool:
        """Whether the account's last read failed."""
        return self._answers[account].failures > 0

    def closed(self, account: str) -> bool:
        """Whether further reads of an account are not tried in this round, because they would fail as well.

        After an answer in this round, as many failures are allowed as reads may be under way, so that a few checkouts
        that always fail do not delay the others.
        """
        answers = self._answers.get(account, _Answers())
        return answers.failures >= max(_PROBES, self._share_of(account) if answers.answered else 0)

    def begun(self, account: str) -> None:
        """Count a read as under way until its result is stored."""
        self._under_way[account] += 1

    def late(self, account: str) -> None:
        """Count a read that is under way as one whose answer is late."""
        self._under_way[account] -= 1
        self._late[account] += 1

    def over(self, account: str, *, late: bool) -> None:
        """Count a read as over.

        :param late: whether it was counted as late.
        """
        (self._late if late else self._under_way)[account] -= 1

    def record(self, account: str, *, answered: bool, late: bool) -> None:
        """Record whether a read got a reliable answer; `Deposit not found` counts as one.

        :param late: whether it was counted as late: a few more failures like it would hold up the round.
        """
        answers = self._answers[account]
        if answered:
            answers.failures, answers.answered, answers.window = 0, True, min(answers.window + 1, self.most)
        else:
            answers.failures += _PROBES if late else 1
            answers.window = max(1, answers.window // 2)
        if self.closed(account):
            self.finished(account)

    def finished(self, account: str) -> None:
        """Give an account's share of the reads to the others, because nothing more of it can be read now."""
        self._working.discard(account)

    @property
    def _free(self) -> int:
        room = self.most - self._under_way.total()
        return min(room, self.most + room - self._late.total())

    def _share_of(self, account: str) -> int:
        """An equal share of the reads, at least a quarter, among this account and the accounts without late answers."""
        late = sum(1 for other, reads in self._late.items() if reads and other != account)
        return max(1, self.most // _SHARE, self.most // max(1, len(self._working) - late))


@dataclass(eq=False)
class DueRound(Generic[Result]):
    """One round over everything that was due when it began.

    :param accounts: the accounts with due reads.
    :param reads: the threads that read.
    :param settles: the threads that apply the results.
    :param reading: returns the function that makes a checkout's read, to be run in a thread.
    :param settle: applies a finished read, given the time at which it was begun, and returns the result.
    :param limit: the maximum number of checkouts to read; None for all.
    :param now: a monotonic clock, in seconds.
    """

    checkouts: Checkouts
    clock: Clock
    limits: AccountLimits
    accounts: Sequence[str]
    reads: Executor
    settles: Executor
    reading: Callable[[CheckoutMixin], Callable[[], Deposit | None]]
    settle: Callable[[CheckoutMixin, Read, datetime], Result]
    limit: int | None
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        # The accounts in the order of their turns to claim; an account without further reads has no turn.
        self._turns = deque(self.accounts)
        self._left = sys.maxsize if self.limit is None else self.limit
        self._count_due()
        self._reading: dict[Read, tuple[CheckoutMixin, datetime]] = {}
        self._begun_at: dict[Read, float] = {}
        """The start times of the reads whose answers are not late, the earliest first."""

        self._settling: dict[Future[Any], tuple[str, bool]] = {}
        """The account of each answer that is being applied, and whether it was late."""

        self._finished: SimpleQueue[Future[Any]] = SimpleQueue()
        self._awaited: set[Read] | None = None
        """The reads that were under way when everything due at the beginning was claimed."""

        self.limits.begin_round(self.accounts)

    def run(self) -> Iterator[Result]:
        """Make the reads; yields the result of each, in the order in which they are applied."""
        broken: SQLAlchemyError | None = None
        while True:
            if broken is None:
                try:
                    self._claim()
                except SQLAlchemyError as error:
                    # Settle the reads under way first, or they would wait until their claims expire.
                    broken = error
            if not self._reading and not self._settling:
                if broken is not None:
                    raise broken
                return
            finished = self._next()
            if finished in self._reading:
                self._apply(finished)
            elif finished is not None:
                account, late = self._settling.pop(finished)
                self.limits.over(account, late=late)
                yield finished.result()

    def _claim(self) -> None:
        """Claim reads for each account with room in its limit, and begin them."""
        # Claim when half of a limit is free, so that one statement claims many reads, but never more than can be read
        # at once: claims of a process that dies would have to expire first.
        self._note_late()
        # Two turns for each account, because one claim takes at most half of a limit.
        for _ in range(2 * len(self._turns)):
            if not self._turns or not self.limits.has_room:
                return
            account = self._turns.popleft()
            room = self.limits.room(account)
            if room:
                self._begin(self._take(account, room))
            if self._left <= 0 or account in self._emptied:
                self.limits.finished(account)
            else:
                # The account keeps its turn even if its reads fail, because a read under way may still be answered.
                self._turns.append(account)

    def _begin(self, checkouts: Iterable[CheckoutMixin]) -> None:
        for checkout in checkouts:
            at = self.clock()
            read = self.reads.submit(self.reading(checkout))
            self.limits.begun(checkout.account)
            self._reading[read] = checkout, at
            self._begun_at[read] = self.now()
            read.add_done_callback(self._finished.put)

    def _note_late(self) -> None:
        """Give the slots of late reads to others."""
        late = self.now() - _LATE
        while self._begun_at:
            read, at = next(iter(self._begun_at.items()))
            if at > late:
                return
            del self._begun_at[read]
            self.limits.late(self._reading[read][0].account)

    def _apply(self, read: Read) -> None:
        """Let an idle settler apply an answer."""
        checkout, at = self._reading.pop(read)
        late = self._begun_at.pop(read, None) is None
        # A 404 is no outage, even if it proves nothing about this checkout.
        answered = read.exception() is None or isinstance(read.exception(), NotFound)
        self.limits.record(checkout.account, answered=answered, late=late)
        settling = self.settles.submit(self.settle, checkout, read, at)
        self._settling[settling] = checkout.account, late
        settling.add_done_callback(self._finished.put)

    def _next(self) -> Future[Any] | None:
        """The next read or settlement that is finished; None after a while, when more may be claimed."""
        try:
            return self._finished.get(timeout=_LATE)
        except Empty:
            if self._awaited is None:
                self._awaited = set(self._reading)
            # While a slow answer holds up the round, the other accounts need not wait for the next one.
            if not self._awaited.isdisjoint(self._reading):
                self._renew()
            return None

    def _renew(self) -> None:
        """Let the accounts with reads that have become due meanwhile take part too."""
        self._count_due()
        due = self.checkouts.due_accounts(self.clock())
        due = [account for account in due if account not in self._turns and not self.limits.closed(account)]
        self.limits.add(due)
        self._turns += due

    def _take(self, account: str, room: int) -> Sequence[CheckoutMixin]:
        """Claim up to `room` checkouts of an account; empty when none is left.

        Checkouts whose last read succeeded come first, so that checkouts that always fail do not delay the others.
        """
        room = min(room, self._left)
        if room <= 0 or account in self._emptied:
            return ()
        failing = account in self._failing
        nothing_locked = all(settling.done() for settling in self._settling)
        # After a failure, claim from the other end, so that neighbouring checkouts that fail together do not count as
        # an outage. Checkouts that failed before take turns: otherwise a single probe would always read the same
        # checkout.
        newest_first = self.limits.troubled(account) and not failing
        claimed = self.checkouts.claim_due(
            self._by, self.clock(), room, account=account, failing=failing, newest_first=newest_first
        )
        self._left -= len(claimed)
        # If a settler of this round may have locked rows, more reads of the account may be left.
        if len(claimed) == room or not nothing_locked:
            return claimed
        (self._emptied if failing else self._failing).add(account)
        return claimed if claimed or failing else self._take(account, room)

    def _count_due(self) -> None:
        """Begin again with the reads that are due by now."""
        self._by: datetime = self.clock()
        # The accounts that have only failing reads left, and the accounts that have no reads left.
        self._failing: set[str] = set()
        self._emptied: set[str] = set()
