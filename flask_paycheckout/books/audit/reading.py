"""Reads of many records at the service, with pauses while it does not answer.

A pause has the length that the service asked for, or a growing one. A merchant account that gets no answer for too long
is given up, and sooner if other accounts get answers; its next reads begin with a single call.
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

# Seconds of the first pause and of the longest one; each pause is as long as all before it plus the first.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# The default total of pauses without an answer, in seconds. A service with a rate limit per minute answers again in the
# next minute.
_PATIENCE = 90.0
# The total of pauses, in seconds, for an account that gets no answer while others do.
_PATIENCE_FOR_ONE = 3.0


class Stopped(Exception):
    """The audit was asked to stop."""


@dataclass(eq=False)
class Job:
    """One read."""

    account: str
    """The merchant account whose keys it uses."""

    make: Callable[[], Callable[[], Any]]
    """Returns the function that makes the call in a thread; called in the caller's thread."""

    result: Any = None
    """The answer to the last call, or its error."""


@dataclass(eq=False)
class Reads:
    """Makes the reads of one audit.

    :param most: the maximum number of concurrent reads.
    :param stopped: set when the audit must stop.
    :param patience: the maximum total of pauses without an answer, in seconds.
    """

    most: int
    stopped: Event
    patience: float = field(default_factory=lambda: _PATIENCE)
    made: int = field(default=0, init=False)
    """The number of calls."""

    is_out: bool = field(default=False, init=False)
    """Whether an account was given up because the service did not answer."""

    _answered: dict[str, Callable[[], Any]] = field(default_factory=dict, init=False)
    """The first answered read of each account, which is repeated to check whether the service answers at all."""

    _given_up: set[str] = field(default_factory=set, init=False)
    """The accounts that were given up and got no answer since; the audit does not wait for them again."""

    _waited: float = field(default=0.0, init=False)
    """The total of pauses since the last answer, in seconds; beyond the limit the audit waits for no account."""

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Make these reads, one account after the other; returns the results, or errors, in the order of the jobs.

        The accounts that failed are retried together after a pause, with one read each. If another account gets
        answers, the service is available, so the failing accounts are given up after a few pauses.

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
        """Make these reads of one account until one must be repeated; returns the remaining reads."""
        # Begin with a single call, which shows whether the account gets answers.
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
                # Keep the first one, which is a short read of a deposit, because a list may be long.
                answered = next(job for job in chosen if job not in failed)
                self._answered.setdefault(answered.account, answered.make)
                self._given_up.discard(answered.account)
                self._waited = 0.0
                # The account gets answers, so each other failure is final, unless it is a rate limit.
                failed = [job for job in failed if isinstance(job.result, RateLimited)]
            if failed:
                # Put the failed reads last, so that another read is tried next.
                return jobs + failed
        return []

    def _is_there(self, failing: Collection[str]) -> bool:
        """Whether an earlier answered read of another account is answered again."""
        read = next((make for account, make in self._answered.items() if account not in failing), None)
        return read is not None and not _is_failure(_result_of(_result_of(read)))

    def _give_up(self, errors: Mapping[str, PaymentsError], *, is_late: bool) -> set[str]:
        """Choose the accounts to give up, by their errors; the others are retried after a pause.

        :param is_late: whether the pauses have reached their limit.
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
    """The result of a function, or the error that it raises; an argument that is an error is returned."""
    try:
        return call if isinstance(call, Exception) else call()
    except Exception as error:
        # A signer of the shop's own may raise anything.
        return error


def _is_failure(result: Any) -> bool:
    """Whether a read failed for a reason that may pass."""
    if not isinstance(result, PaymentsError):
        return False
    return is_about_keys(result) or isinstance(result, RateLimited) or not is_answer(result)


def is_about_keys(error: Exception) -> bool:
    """Whether the service refuses an account's keys, or the shop gives none."""
    return isinstance(error, (AccountUnavailable, Unauthorized))


def what_to_do(error: Exception, account: str, meaning: str = "") -> str:
    """A text about an error of a read, with the remedy.

    :param meaning: a sentence about the consequence of the error.
    """
    if is_about_keys(error) or isinstance(error, NotMadeByThisClient):
        remedy = f"Correct the keys{account_text(account)}, then repeat the audit."
    else:
        remedy = "Repeat the audit when the service answers again."
    return " ".join(part for part in (f"It could not be read: {error_text(error)}.", meaning, remedy) if part)
