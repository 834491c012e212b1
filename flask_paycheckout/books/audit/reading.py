"""Many reads of the service, and pauses while it does not answer.

A pause ends after the seconds that the service asked for, or after growing ones. A merchant account that stays away for
too long is given up, and soon when others answer; its next reads begin with a single call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from flask_paycheckout.checkouts.payments import NotMadeByThisClient
from flask_paycheckout.client import PaymentsError, RateLimited, Unauthorized
from flask_paycheckout.payouts.calls import error_text
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.service.calls import is_answer
from flask_paycheckout.text import account_text

# Seconds of the first pause and the longest one; each is as long as all before it, and a first one.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# Seconds of all pauses without an answer, by default. A service that counts requests by the minute answers again in the
# next one.
_PATIENCE = 90.0
# Seconds of the pauses for an account that stays away while others are answered.
_PATIENCE_FOR_ONE = 3.0


class Stopped(Exception):
    """The audit was asked to stop."""


@dataclass(eq=False)
class Job:
    """One read."""

    account: str
    """The merchant account whose keys it uses."""

    make: Callable[[], Callable[[], Any]]
    """Returns the function that makes the call in a thread; called in the caller's own."""

    result: Any = None
    """The answer to the last call, or its error."""


@dataclass(eq=False)
class Reads:
    """Makes the reads of one audit.

    :param most: the most reads at once.
    :param stopped: is set when the audit is to stop.
    :param patience: the seconds of all pauses without an answer.
    """

    most: int
    stopped: Event
    patience: float = field(default_factory=lambda: _PATIENCE)
    made: int = field(default=0, init=False)
    """The number of calls."""

    is_out: bool = field(default=False, init=False)
    """Whether an account was given up because the service did not answer."""

    _answered: dict[str, Callable[[], Any]] = field(default_factory=dict, init=False)
    """For each account its first answered read, which is repeated to learn whether the service answers at all."""

    _given_up: set[str] = field(default_factory=set, init=False)
    """The accounts that were given up and have not answered since; the audit does not wait for them again."""

    _waited: float = field(default=0.0, init=False)
    """The seconds of the pauses since the last answer; after too many of them the audit waits for no account."""

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Make these reads, one account after the other; the results, or their errors, in the order of the jobs.

        The accounts that failed are tried again together after a pause, with one read each. While another one is
        answered, the service is there, so that they are given up after few pauses.

        :raises Stopped: the audit was asked to stop; reads under way have ended.
        """
        waiting: dict[str, list[Job]] = {}
        for job in jobs:
            waiting.setdefault(job.account, []).append(job)
        with ThreadPoolExecutor(self.most, "paycheckout-audit") as threads:
            while waiting:
                reads = {account: self._read(left, threads) for account, left in waiting.items()}
                waiting = {account: left for account, left in reads.items() if left}
                errors = {account: left[-1].result for account, left in waiting.items()}
                growing = min(self._waited + _FIRST_PAUSE, _LONGEST_PAUSE)
                seconds = max([growing, *(error.retry_after or 0.0 for error in errors.values())])
                for account in self._give_up(errors, is_late=self._waited + seconds > self.patience):
                    for job in waiting.pop(account):
                        job.result = errors[account]
                if waiting:
                    self._waited += seconds
                    self.pause(seconds)
        self.require_going_on()
        return [job.result for job in jobs]

    def _read(self, jobs: list[Job], threads: ThreadPoolExecutor) -> list[Job]:
        """Make these reads of one account until one is to be repeated; returns those that are left."""
        # One call shows whether the account answers.
        most = 1
        while jobs:
            self.require_going_on()
            chosen, jobs = jobs[:most], jobs[most:]
            self.made += len(chosen)
            calls = [_result_of(job.make) for job in chosen]
            for job, result in zip(chosen, threads.map(_result_of, calls), strict=True):
                job.result = result
            failed = [job for job in chosen if _is_failure(job.result)]
            if len(failed) < len(chosen):
                most = self.most
                # The first one, since reads of deposits come first: a list may be long.
                answered = next(job for job in chosen if job not in failed)
                self._answered.setdefault(answered.account, answered.make)
                self._given_up.discard(answered.account)
                self._waited = 0.0
                # The account answers, so that each of the others has failed by itself.
                failed = [job for job in failed if isinstance(job.result, RateLimited)]
            if failed:
                # Another read than the last one is tried next.
                return jobs + failed
        return []

    def _is_there(self, failing: Collection[str]) -> bool:
        """Whether a read of another account, which was answered before, is answered again."""
        read = next((make for account, make in self._answered.items() if account not in failing), None)
        return read is not None and not _is_failure(_result_of(_result_of(read)))

    def _give_up(self, errors: Mapping[str, PaymentsError], *, is_late: bool) -> set[str]:
        """Choose the accounts that are given up, by their errors; the others are tried again after a pause.

        :param is_late: whether all of them were waited for long enough.
        """
        alone = self._waited >= _PATIENCE_FOR_ONE and self._is_there(errors)
        hopeless = {
            account
            for account, error in errors.items()
            if is_late
            or account in self._given_up
            or is_about_keys(error)
            or (alone and not isinstance(error, RateLimited))
        }
        self._given_up |= hopeless
        self.is_out = self.is_out or any(not is_about_keys(errors[account]) for account in hopeless)
        return hopeless

    def require_going_on(self) -> None:
        """:raises Stopped: the audit was asked to stop."""
        if self.stopped.is_set():
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Wait, unless the audit is to stop."""
        self.stopped.wait(seconds)


def _result_of(call: Any) -> Any:
    """The result of a function, or the error that it raises; an error itself is given back."""
    try:
        return call if isinstance(call, Exception) else call()
    except Exception as error:
        # A signer of the shop's own may raise anything.
        return error


def _is_failure(result: Any) -> bool:
    """Whether nothing is known of what was read, for a reason that may pass."""
    if not isinstance(result, PaymentsError):
        return False
    return is_about_keys(result) or isinstance(result, RateLimited) or not is_answer(result)


def is_about_keys(error: Exception) -> bool:
    """Whether the service refuses an account's keys, or the shop gives none."""
    return isinstance(error, (AccountUnavailable, Unauthorized))


def what_to_do(error: Exception, account: str, meaning: str = "") -> str:
    """A sentence on an error of a read, and what to do about it.

    :param meaning: a sentence on what follows from the error.
    """
    if is_about_keys(error) or isinstance(error, NotMadeByThisClient):
        remedy = f"Correct the keys{account_text(account)}, then repeat the audit."
    else:
        remedy = "Repeat the audit when the service answers again."
    return " ".join(part for part in (f"It could not be read: {error_text(error)}.", meaning, remedy) if part)
