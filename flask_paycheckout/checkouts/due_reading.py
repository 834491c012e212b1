"""The reads of one reconcile round: claimed in portions, made by threads, and applied as their answers come.

With several merchant accounts each has a limit of its own, and they take turns, so that one whose service hangs or
refuses its keys does not delay the others. An answer that is late leaves its place to them.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.due_reads import DueReads
from flask_paycheckout.client import Deposit, NotFound
from flask_paycheckout.clock import Clock
from flask_paycheckout.service.limits import AccountLimits

# Seconds after which an answer is late: others get its place, and what has become due meanwhile.
_LATE = 1.0
Result = TypeVar("Result")


class Workers(NamedTuple):
    """The threads of a round."""

    reads: Executor
    settles: Executor


class DueRound(Generic[Result]):
    """One round over everything that was due when it began.

    :param reading: returns the function that makes a checkout's read, to be run in a thread.
    :param settle: applies a finished read, and returns the result.
    :param accounts: the merchant accounts with due reads, which then have a limit each; None for one limit.
    :param limit: the most checkouts to read; None for all.
    :param now: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        due_reads: DueReads,
        clock: Clock,
        limits: AccountLimits,
        workers: Workers,
        reading: Callable[[CheckoutMixin], Callable[[], Deposit | None]],
        settle: Callable[[CheckoutMixin, Future[Deposit | None]], Result],
        accounts: Sequence[str] | None,
        limit: int | None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._due_reads = due_reads
        self._clock = clock
        self._now = now
        self._limits = limits
        self._workers = workers
        self._reading_of = reading
        self._settle = settle
        self._several = accounts is not None
        # Whose turn it is to claim comes first; those of whom nothing is left have none.
        self._turns = deque([""] if accounts is None else accounts)
        self._due = _Due(due_reads, clock, limit)
        self._reading: dict[Future[Any], CheckoutMixin] = {}
        self._settling: dict[Future[Any], CheckoutMixin] = {}
        self._begun_at: dict[Future[Any], float] = {}
        """When the reads began whose answers are not late, the earliest first."""

        self._late: set[CheckoutMixin] = set()
        self._finished: SimpleQueue[Future[Any]] = SimpleQueue()
        self._awaited: set[Future[Any]] | None = None
        """The reads that were under way when everything due at the beginning was claimed."""

        limits.begin_round(self._turns)

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
            done = self._next()
            if done in self._reading:
                done = self._take_answer(self._reading.pop(done), done)
            if done is not None:
                self._over(self._settling.pop(done))
                yield done.result()

    def _claim(self) -> None:
        """Claim reads for each account with room in its limit, and begin them."""
        # Claim when half of a limit is free, so that one statement claims many reads, but never more than can be read
        # at once: claims of a process that dies would have to expire first.
        nothing_locked = self._due_reads.single_writer or not self._settling
        self._note_late()
        # Twice, since one claim takes half of a limit at most.
        for _ in range(2 * len(self._turns)):
            if not self._turns or not self._limits.has_room:
                return
            key = self._turns.popleft()
            room = self._limits.room(key)
            if room:
                # After a failure, claim from the other end, so that neighbouring checkouts that fail together do not
                # count as an outage.
                newest_first = self._limits.troubled(key)
                account = key if self._several else None
                self._begin(self._due.take(account, room, newest_first=newest_first, complete=nothing_locked))
            if self._due.is_over(key if self._several else None):
                self._limits.finished(key)
            else:
                # Also when its reads fail: an answer to one that is under way may show that the others will not.
                self._turns.append(key)

    def _begin(self, checkouts: Iterable[CheckoutMixin]) -> None:
        for checkout in checkouts:
            begun = self._workers.reads.submit(self._reading_of(checkout))
            self._limits.begun(self._key(checkout))
            self._reading[begun] = checkout
            if self._several:
                self._begun_at[begun] = self._now()
            begun.add_done_callback(self._finished.put)

    def _note_late(self) -> None:
        """Leave the places of late answers to others."""
        late = self._now() - _LATE
        while self._begun_at:
            read, at = next(iter(self._begun_at.items()))
            if at > late:
                return
            del self._begun_at[read]
            checkout = self._reading[read]
            self._late.add(checkout)
            self._limits.late(self._key(checkout))

    def _over(self, checkout: CheckoutMixin) -> None:
        """Count a read as over, its result stored."""
        late = checkout in self._late
        self._late.discard(checkout)
        self._limits.over(self._key(checkout), late=late)

    def _take_answer(self, checkout: CheckoutMixin, read: Future[Deposit | None]) -> Future[Result] | None:
        """Let an idle settler apply an answer; gives its work when that is finished already."""
        self._begun_at.pop(read, None)
        # A 404 is no outage, also where it proves nothing about this checkout.
        answered = read.exception() is None or isinstance(read.exception(), NotFound)
        self._limits.tell(self._key(checkout), answered=answered, late=checkout in self._late)
        settling = self._workers.settles.submit(self._settle, checkout, read)
        self._settling[settling] = checkout
        if settling.done():
            return settling
        settling.add_done_callback(self._finished.put)
        return None

    def _next(self) -> Future[Any] | None:
        """The next read or settlement that is finished; None after a while, when more may be claimed."""
        try:
            return self._finished.get(timeout=_LATE if self._several else None)
        except Empty:
            if self._awaited is None:
                self._awaited = set(self._reading)
            # So long as a slow answer holds up the round, the others need not wait for the next one.
            if not self._awaited.isdisjoint(self._reading):
                self._renew()
            return None

    def _renew(self) -> None:
        """Let the accounts with reads that have become due meanwhile take part too."""
        self._due.renew()
        due = self._due_reads.due_accounts(self._clock())
        due = [account for account in due if account not in self._turns and not self._limits.closed(account)]
        self._limits.add(due)
        self._turns += due

    def _key(self, checkout: CheckoutMixin) -> str:
        return checkout.account if self._several else ""


class _Due:
    """Due reads, claimed in portions: for each account first those that did not fail last time.

    So checkouts that always fail do not delay the others.
    """

    def __init__(self, due_reads: DueReads, clock: Clock, limit: int | None) -> None:
        self._due_reads = due_reads
        self._clock = clock
        self._left = sys.maxsize if limit is None else limit
        self.renew()

    def renew(self) -> None:
        """Count what is due by now."""
        self._by: datetime = self._clock()
        # The accounts whose other reads are all claimed, and those of which nothing is left.
        self._failing: set[str | None] = set()
        self._finished: set[str | None] = set()

    def is_over(self, account: str | None) -> bool:
        """Whether nothing more of an account is left."""
        return self._left <= 0 or account in self._finished

    def take(self, account: str | None, room: int, *, newest_first: bool, complete: bool) -> Sequence[CheckoutMixin]:
        """Claim up to `room` checkouts of an account; empty when none is left.

        :param account: None for those of all accounts.
        :param complete: whether no row can have been skipped because this round itself has it locked.
        """
        room = min(room, self._left)
        if room <= 0 or account in self._finished:
            return ()
        failing = account in self._failing
        claimed = self._due_reads.claim_due(
            self._by, self._clock(), room, account=account, failing=failing, newest_first=newest_first
        )
        self._left -= len(claimed)
        if len(claimed) == room or not complete:
            return claimed
        (self._finished if failing else self._failing).add(account)
        if claimed or failing:
            return claimed
        return self.take(account, room, newest_first=newest_first, complete=complete)
