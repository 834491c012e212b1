"""Many reads of the service, and pauses while it does not answer.

A pause ends after the seconds that the service asked for, or after growing ones. Reads of a merchant account that stays
away for too long are given up; the next ones begin with a single call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flask_paycheckout.checkouts.deposits import NotMadeByThisClient
from flask_paycheckout.client import PaymentsError, RateLimited, Unauthorized
from flask_paycheckout.payouts.calls import error_text
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.service.calls import is_answer
from flask_paycheckout.text import account_text

# Seconds between two looks at whether the audit is to stop.
_TICK = 0.5
# Seconds of the first pause and the longest one, each twice as long as the one before.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# Seconds that an account may stay away. A service that counts requests by the minute answers again in the next one.
_PATIENCE = 90.0


class Stopped(Exception):
    """The audit was asked to stop."""


class Job(NamedTuple):
    """One read."""

    of: Hashable
    """The reads that fail for one reason together: those of an account, or of its list."""

    make: Callable[[], Callable[[], Any]]
    """Returns the function that makes the call in a thread; called in the caller's own."""


@dataclass(eq=False)
class Reads:
    """Makes the reads of one audit.

    :param most: the most reads at once.
    :param stopped: returns whether the audit is to stop.
    """

    most: int
    stopped: Callable[[], bool]

    _answering: set[Hashable] = field(default_factory=set, init=False)
    """The sources whose last reads were answered."""

    _given_up: set[Hashable] = field(default_factory=set, init=False)
    """The sources that have stayed away for too long, and have not answered since: they are not waited for again."""

    _is_away: bool = field(default=False, init=False)
    """Whether one was given up, and nothing has answered since: no others are waited for."""

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Make these reads, one source after the other; the results, or their errors, in the order of the jobs.

        :raises Stopped: the audit was asked to stop; reads under way have ended.
        """
        results: dict[int, Any] = {}
        with ThreadPoolExecutor(self.most, "paycheckout-audit") as threads:
            for source in dict.fromkeys(job.of for job in jobs):
                of_source = {number: job.make for number, job in enumerate(jobs) if job.of == source}
                results |= self._run(source, of_source, threads)
        self.require_going_on()
        return [results[number] for number in range(len(jobs))]

    def _run(
        self, source: Hashable, makes: Mapping[int, Callable[[], Callable[[], Any]]], threads: ThreadPoolExecutor
    ) -> dict[int, Any]:
        """The results of the reads of one source, by their numbers."""
        results: dict[int, Any] = {}
        waiting, pauses, since = list(makes), 0, 0.0
        while waiting:
            self.require_going_on()
            # At first, and after a pause, one call shows whether the service answers.
            most = self.most if source in self._answering else 1
            chosen, waiting = waiting[:most], waiting[most:]
            calls = [_result_of(makes[number]) for number in chosen]
            found = dict(zip(chosen, threads.map(_result_of, calls), strict=True))
            results |= found
            failed: dict[int, PaymentsError] = {number: one for number, one in found.items() if _is_failure(one)}
            if len(failed) < len(found):
                self._answering.add(source)
                self._given_up.discard(source)
                self._is_away, pauses = False, 0
                # The service answers, so that each of the others has failed by itself.
                failed = {number: one for number, one in failed.items() if isinstance(one, RateLimited)}
            if not failed:
                continue
            self._answering.discard(source)
            # Another read than the last one is tried next.
            waiting += failed
            error, now = failed.popitem()[1], time.monotonic()
            since = since if pauses else now
            seconds = max(min(_FIRST_PAUSE * 2**pauses, _LONGEST_PAUSE), error.retry_after or 0.0)
            patience = 0.0 if self._is_away or source in self._given_up else _PATIENCE
            if is_late := now + seconds > since + patience:
                self._given_up.add(source)
                self._is_away = True
            if is_late or is_about_keys(error):
                return results | dict.fromkeys(waiting, error)
            pauses += 1
            self.pause(seconds)
        return results

    def require_going_on(self) -> None:
        """:raises Stopped: the audit was asked to stop."""
        if self.stopped():
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Wait, unless the audit is to stop."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.stopped():
            time.sleep(min(left, _TICK))


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


def is_about_keys(error: PaymentsError) -> bool:
    """Whether the service refuses an account's keys, or the shop gives none."""
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
