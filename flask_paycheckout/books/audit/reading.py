"""Many reads of the service, within its limits: so many at once as it answers well, and pauses while it does not.

Each merchant account has a limit of its own. A pause ends after the seconds that the service asked for, or after
growing ones; an account that stays away longer than an audit of this length waits for is given up.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from flask_paycheckout.client import PaymentsError, RateLimited, Unauthorized
from flask_paycheckout.payouts.calls import error_text
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.service.calls import NotMadeByThisClient, is_answer
from flask_paycheckout.service.limits import AdaptiveLimit
from flask_paycheckout.text import account_text

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


class Job(NamedTuple):
    """One read."""

    account: str
    make: Callable[[], Callable[[], Any]]
    """Returns the function that makes the call in a thread; called in the caller's own, and may raise PaymentsError."""


@dataclass
class _Account:
    """How the reads of one merchant account go."""

    limit: AdaptiveLimit
    refusals: int = 0
    pauses: int = 0
    """The number of pauses since the last answer."""

    paused_until: float = 0.0
    troubled_since: float = 0.0
    down: PaymentsError | None = None
    """The error for which the account was given up."""


@dataclass(eq=False)
class Reads:
    """Makes the reads of one audit.

    :param most: the most reads at once.
    :param stopped: returns whether the audit is to stop.
    :param sleep: waits for seconds.
    :param now: seconds that only move forward.
    """

    most: int
    stopped: Callable[[], bool]
    sleep: Callable[[float], object] = time.sleep
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._began = self.now()
        self._accounts: dict[str, _Account] = {}

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Make these reads in rounds; the results, or their errors, in the order of the jobs.

        :raises Stopped: the audit was asked to stop; reads under way have ended.
        """
        results: list[Any] = [None] * len(jobs)
        waiting = deque((number, 0) for number in range(len(jobs)))
        with ThreadPoolExecutor(self.most, "paycheckout-audit") as threads:
            while waiting:
                self.require_going_on()
                chosen = list(self._choose(jobs, waiting, results))
                if not chosen and waiting:
                    self.sleep(_TICK)
                calls = [_made(jobs[number]) for number, _ in chosen]
                for (number, tries), result in zip(chosen, threads.map(_result_of, calls), strict=True):
                    results[number] = result
                    again = self._judge(self._account(jobs[number].account), result, tries)
                    waiting += [] if again is None else [(number, again)]
        self.require_going_on()
        return results

    def error_of(self, account: str) -> PaymentsError | None:
        """The error for which an account was given up; None while it was not."""
        return self._accounts[account].down if account in self._accounts else None

    def require_going_on(self) -> None:
        """:raises Stopped: the audit was asked to stop."""
        if self.stopped():
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
        while (left := until - self.now()) > 0 and not self.stopped():
            self.sleep(min(left, _TICK))

    def _account(self, name: str) -> _Account:
        return self._accounts.setdefault(name, _Account(AdaptiveLimit(self.most)))

    def _choose(
        self, jobs: Sequence[Job], waiting: deque[tuple[int, int]], results: list[Any]
    ) -> Iterator[tuple[int, int]]:
        """Take the reads of the next round from those that wait; accounts that were given up have their error."""
        chosen: Counter[str] = Counter()
        for _ in range(len(waiting)):
            number, tries = waiting.popleft()
            name = jobs[number].account
            account = self._account(name)
            if account.down is not None:
                results[number] = account.down
                continue
            # After a pause one call shows whether the service answers again.
            most = 1 if account.pauses else account.limit.size
            if account.paused_until > self.now() or chosen[name] >= most or chosen.total() >= self.most:
                waiting.append((number, tries))
                continue
            chosen[name] += 1
            yield number, tries

    def _judge(self, account: _Account, result: object, tries: int) -> int | None:
        """Learn from a result; the number of tries with which the read is made again, or None."""
        another = tries + 1 if tries + 1 < _TRIES else None
        if isinstance(result, PaymentsError) and is_about_keys(result):
            account.refusals += 1
            if account.refusals >= _REFUSALS:
                account.down = result
            return another
        if isinstance(result, PaymentsError) and (isinstance(result, RateLimited) or not is_answer(result)):
            account.limit.failed()
            if isinstance(result, RateLimited) or account.limit.closed:
                # It says nothing about this read, which is therefore made again.
                self._pause(account, result)
                return tries
            return another
        if not isinstance(result, Exception) or isinstance(result, PaymentsError):
            account.limit.answered()
            account.refusals = account.pauses = 0
        # A signer of the shop's own may raise anything.
        return None

    def _pause(self, account: _Account, error: PaymentsError) -> None:
        now = self.now()
        if now < account.paused_until:
            # Another read of the same round.
            return
        account.troubled_since = account.troubled_since if account.pauses else now
        seconds = self.seconds_to_wait(error, account.pauses, account.troubled_since)
        if seconds is None:
            account.down = error
            return
        account.pauses += 1
        account.paused_until = now + seconds


def _made(job: Job) -> Callable[[], Any]:
    try:
        return job.make()
    except PaymentsError as error:
        # The name of an exception ends with its block.
        refused = error
        return lambda: refused


def _result_of(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


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
    return " ".join(part for part in (f"It could not be read: {error_text(error)}.", meaning, remedy) if part)
