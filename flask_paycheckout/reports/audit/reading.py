"""Many reads of the service, within its limits: so many at once as it answers well, and pauses while it does not.

Each merchant account has a limit of its own. A pause ends after the seconds that the service asked for, or after
growing ones; an account that stays away longer than an audit of this length waits for is given up.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from flask_paycheckout.client import PaymentsError, RateLimited, Unauthorized
from flask_paycheckout.payouts.calls import words_of
from flask_paycheckout.rules.text import account_text
from flask_paycheckout.service.calls import AccountUnavailable, is_answer
from flask_paycheckout.service.deposits import NotMadeByThisClient
from flask_paycheckout.service.limits import AdaptiveLimit

__all__ = ["Job", "Reads", "Stopped", "is_about_keys", "what_to_do"]

T = TypeVar("T")

# Seconds between two looks at whether the audit is to stop.
_TICK = 0.5
# Calls about one deposit or disbursement, each with the client's own retries.
_TRIES = 2
# Refused keys in a row after which an account is given up; the shop was asked for new ones after each.
_REFUSALS = 3
# Seconds of the first pause and the longest one, each twice as long as the one before.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# Seconds that an account may stay away: a tenth of the time that the audit has run, within these limits.
_SHARE, _LEAST_PATIENCE, _MOST_PATIENCE = 0.1, 7.0, 300.0
# A service that counts requests by the minute answers again in the next one.
_RATE_PATIENCE = 90.0


class Stopped(Exception):
    """The audit was asked to stop."""


class Job(NamedTuple, Generic[T]):
    """One read."""

    account: str
    make: Callable[[], Callable[[], T]]
    """Returns the function that makes the call in a thread; called in the caller's own, and may raise PaymentsError."""


@dataclass
class _Account:
    """How the reads of one merchant account go."""

    limit: AdaptiveLimit
    waiting: deque[tuple[int, int]] = field(default_factory=deque)
    """The jobs that are to be made, each with its number and the number of calls so far."""

    under_way: int = 0
    refusals: int = 0
    pauses: int = 0
    """The number of pauses since the last answer."""

    paused_until: float = 0.0
    troubled_since: float | None = None
    down: PaymentsError | None = None
    """The error for which the account was given up."""


class Reads:
    """Makes the reads of one audit.

    :param most: the most reads at once.
    :param stopped: returns whether the audit is to stop.
    :param sleep: waits for seconds.
    :param now: seconds that only move forward.
    """

    def __init__(
        self,
        most: int,
        stopped: Callable[[], bool],
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._stopped = stopped
        self._sleep = sleep
        self.now = now
        """Seconds that only move forward."""

        self._began = now()
        self._accounts: dict[str, _Account] = {}
        self._answered_at: dict[str, float] = {}
        self._threads = ThreadPoolExecutor(most, "paycheckout-audit")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)

    @property
    def nobody_answers(self) -> PaymentsError | None:
        """The error of an account that was given up for an outage, when no other one has answered since it began."""
        latest = max(self._answered_at.values(), default=float("-inf"))
        for account in self._accounts.values():
            if account.down is None or account.troubled_since is None or is_about_keys(account.down):
                continue
            if latest < account.troubled_since:
                return account.down
        return None

    def run(self, jobs: Sequence[Job[T]]) -> list[T | Exception]:
        """Make these reads; the results, or their errors, in the order of the jobs.

        :raises Stopped: the audit was asked to stop; reads under way have ended.
        """
        results: list[Any] = [None] * len(jobs)
        busy: dict[str, _Account] = {}
        for number, job in enumerate(jobs):
            account = busy[job.account] = self._account(job.account)
            account.waiting.append((number, 0))
        under_way: dict[Future[T], tuple[str, int, int]] = {}
        while under_way or any(account.waiting for account in busy.values()):
            if self._stopped():
                for account in busy.values():
                    account.waiting.clear()
            for account in busy.values():
                self._begin(account, jobs, results, under_way)
            if under_way:
                for done in wait(under_way, timeout=_TICK, return_when=FIRST_COMPLETED).done:
                    name, number, calls = under_way.pop(done)
                    self._end(busy[name], name, done, number, calls, results)
            elif any(account.waiting for account in busy.values()):
                self._sleep(_TICK)
        self.require_going_on()
        return results

    def error_of(self, account: str) -> PaymentsError | None:
        """The error for which an account was given up; None while it was not."""
        return self._accounts[account].down if account in self._accounts else None

    def require_going_on(self) -> None:
        """:raises Stopped: the audit was asked to stop."""
        if self._stopped():
            raise Stopped

    def seconds_to_wait(self, error: PaymentsError, pauses: int, since: float) -> float | None:
        """Seconds until a call is made again after an error; None when it has been waited for long enough.

        :param pauses: how often it was waited for since the last answer.
        :param since: when the errors began.
        """
        now = self.now()
        seconds = max(min(_FIRST_PAUSE * 2**pauses, _LONGEST_PAUSE), error.retry_after or 0.0)
        least = _RATE_PATIENCE if isinstance(error, RateLimited) else _LEAST_PATIENCE
        patience = min(max(_SHARE * (now - self._began), least), _MOST_PATIENCE)
        return seconds if now + seconds <= since + patience else None

    def pause(self, seconds: float) -> None:
        """Wait, unless the audit is to stop."""
        until = self.now() + seconds
        while (left := until - self.now()) > 0 and not self._stopped():
            self._sleep(min(left, _TICK))

    def _account(self, name: str) -> _Account:
        return self._accounts.setdefault(name, _Account(AdaptiveLimit(self._most)))

    def _begin(
        self,
        account: _Account,
        jobs: Sequence[Job[T]],
        results: list[Any],
        under_way: dict[Future[T], tuple[str, int, int]],
    ) -> None:
        """Begin as many reads of an account as may be made now."""
        while account.waiting:
            if account.down is not None:
                for number, _ in account.waiting:
                    results[number] = account.down
                account.waiting.clear()
                return
            # After a pause one call shows whether the service answers again.
            most = 1 if account.pauses else account.limit.size
            if account.paused_until > self.now() or account.under_way >= most or len(under_way) >= self._most:
                return
            number, calls = account.waiting.popleft()
            try:
                call = jobs[number].make()
            except PaymentsError as error:
                results[number] = error
                self._refused(account, error, number, calls + 1)
                continue
            account.under_way += 1
            under_way[self._threads.submit(call)] = jobs[number].account, number, calls + 1

    def _end(self, account: _Account, name: str, done: Future[T], number: int, calls: int, results: list[Any]) -> None:
        account.under_way -= 1
        error = done.exception()
        if error is None:
            self._answered(account, name)
            results[number] = done.result()
            return
        results[number] = error
        if not isinstance(error, PaymentsError):
            # A signer of the shop's own may raise anything.
            return
        if is_about_keys(error):
            self._refused(account, error, number, calls)
        elif isinstance(error, RateLimited) or not is_answer(error):
            self._failed(account, error, number, calls)
        else:
            self._answered(account, name)

    def _refused(self, account: _Account, error: PaymentsError, number: int, calls: int) -> None:
        """The shop gives no keys for an account, or the service refuses them; the shop is asked again for the next."""
        account.refusals += 1
        if account.refusals >= _REFUSALS:
            account.down = error
        elif calls < _TRIES:
            account.waiting.append((number, calls))

    def _failed(self, account: _Account, error: PaymentsError, number: int, calls: int) -> None:
        account.limit.failed()
        passing = isinstance(error, RateLimited)
        if passing or account.limit.closed:
            # It says nothing about this read, which is therefore made again.
            account.waiting.appendleft((number, calls - 1))
            self._pause(account, error)
        elif calls < _TRIES:
            account.waiting.append((number, calls))

    def _answered(self, account: _Account, name: str) -> None:
        account.limit.answered()
        account.refusals, account.pauses, account.troubled_since = 0, 0, None
        self._answered_at[name] = self.now()

    def _pause(self, account: _Account, error: PaymentsError) -> None:
        now = self.now()
        if now < account.paused_until:
            # Reads that were under way when the pause began.
            return
        account.troubled_since = now if account.troubled_since is None else account.troubled_since
        seconds = self.seconds_to_wait(error, account.pauses, account.troubled_since)
        if seconds is None:
            account.down = error
            return
        account.pauses += 1
        account.paused_until = now + seconds


def is_about_keys(error: PaymentsError) -> bool:
    """Whether an account was given up for its keys, and not because the service is away."""
    return isinstance(error, (AccountUnavailable, Unauthorized))


def what_to_do(error: Exception, account: str, meaning: str = "") -> str:
    """A sentence on an error of a read, and what to do about it.

    :param meaning: a sentence on what follows from the error.
    """
    if isinstance(error, PaymentsError) and (is_about_keys(error) or isinstance(error, NotMadeByThisClient)):
        remedy = f"Correct the keys{account_text(account)}, then repeat the audit."
    else:
        remedy = "Repeat the audit when the service answers again."
    return " ".join(part for part in (f"It could not be read: {words_of(error)}.", meaning, remedy) if part)
