"""The reads of one reconcile round: claimed in portions, made by threads, and applied as their answers come.

Each merchant account has a limit of its own, and they take turns, so that one whose service hangs or refuses its keys
does not delay the others. An answer that is late leaves its place to them.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import Deposit, NotFound
from flask_paycheckout.clock import Clock
from flask_paycheckout.service.limits import AccountLimits

# Seconds after which an answer is late: others get its place, and what has become due meanwhile.
_LATE = 1.0
Result = TypeVar("Result")
Read = Future[Deposit | None]


@dataclass(eq=False)
class DueRound(Generic[Result]):
    """One round over everything that was due when it began.

    :param reads: the threads that read.
    :param settles: the threads that apply what was read.
    :param reading: returns the function that makes a checkout's read, to be run in a thread.
    :param settle: applies a finished read, given the time at which it was begun, and returns the result.
    :param limit: the most checkouts to read; None for all.
    :param now: a monotonic clock, in seconds.
    """

    checkouts: Checkouts
    clock: Clock
    limits: AccountLimits
    reads: Executor
    settles: Executor
    reading: Callable[[CheckoutMixin], Callable[[], Deposit | None]]
    settle: Callable[[CheckoutMixin, Read, datetime], Result]
    limit: int | None
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        # The account whose turn it is to claim comes first; an account of which nothing is left has none.
        self._turns = deque(self.checkouts.due_accounts(self.clock()))
        self._left = sys.maxsize if self.limit is None else self.limit
        self._count_due()
        self._reading: dict[Read, tuple[CheckoutMixin, datetime]] = {}
        self._begun_at: dict[Read, float] = {}
        """When the reads began whose answers are not late, the earliest first."""

        self._settling: dict[Future[Any], tuple[str, bool]] = {}
        """The account of each answer that is being applied, and whether it was late."""

        self._finished: SimpleQueue[Future[Any]] = SimpleQueue()
        self._awaited: set[Read] | None = None
        """The reads that were under way when everything due at the beginning was claimed."""

        self.limits.begin_round(self._turns)

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
        # Twice, since one claim takes half of a limit at most.
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
                # Also when its reads fail: an answer to one that is under way may show that the others will not.
                self._turns.append(account)

    def _begin(self, checkouts: Iterable[CheckoutMixin]) -> None:
        for checkout in checkouts:
            at = self.clock()
            begun = self.reads.submit(self.reading(checkout))
            self.limits.begun(checkout.account)
            self._reading[begun] = checkout, at
            self._begun_at[begun] = self.now()
            begun.add_done_callback(self._finished.put)

    def _note_late(self) -> None:
        """Leave the places of late answers to others."""
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
        # A 404 is no outage, also where it proves nothing about this checkout.
        answered = read.exception() is None or isinstance(read.exception(), NotFound)
        self.limits.tell(checkout.account, answered=answered, late=late)
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

        Those come first that did not fail last time, so that checkouts that always fail do not delay the others.
        """
        room = min(room, self._left)
        if room <= 0 or account in self._emptied:
            return ()
        failing = account in self._failing
        nothing_locked = all(settling.done() for settling in self._settling)
        # After a failure, claim from the other end, so that neighbouring checkouts that fail together do not count as
        # an outage. Those that failed before take turns: otherwise a single probe would always be the same one.
        newest_first = self.limits.troubled(account) and not failing
        claimed = self.checkouts.claim_due(
            self._by, self.clock(), room, account=account, failing=failing, newest_first=newest_first
        )
        self._left -= len(claimed)
        # Rows that a settler of this round has locked are not claimed, and not used up.
        if len(claimed) == room or not nothing_locked:
            return claimed
        (self._emptied if failing else self._failing).add(account)
        return claimed if claimed or failing else self._take(account, room)

    def _count_due(self) -> None:
        """Count what is due by now."""
        self._by: datetime = self.clock()
        # The accounts whose other reads are all claimed, and those of which nothing is left.
        self._failing: set[str] = set()
        self._emptied: set[str] = set()
