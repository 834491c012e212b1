"""Looks at rows and at what the service says of them: what differs is named only when its row did not move meanwhile.

What has changed only now is looked at again some moments later, since a running shop may be about to store it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from flask_paycheckout.books.audit.deposits import judge_deposit
from flask_paycheckout.books.audit.disbursements import judge_disbursement
from flask_paycheckout.books.audit.findings import DOUBTFUL, Finding
from flask_paycheckout.books.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import Deposit, FiatDisbursement, NotFound
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.service.deposits import ServiceCheckout

__all__ = ["DepositChecks", "PayoutChecks", "Recheck"]

ReadDeposit = Callable[[ServiceCheckout], Callable[[], Deposit | None]]

# Looks at what differs, while the row moves each time.
_MOST_LOOKS = 5
_RECENT = timedelta(seconds=60)
# Seconds until the second look at what has changed only now.
_CALM = 2.0


@dataclass(frozen=True)
class Recheck(ABC):
    """Compares rows of one table with the service, and makes sure of what it found."""

    rows: AuditRows
    reads: Reads
    clock: Clock

    @abstractmethod
    def now(self, ids: Iterable[int]) -> dict[int, Any]:
        """The rows as they are now, by their ids."""

    @abstractmethod
    def judge(self, row: Any, read: Any) -> Finding:
        """Compare a row with a read.

        :param read: None when the service has nothing; an error when it could not be read.
        """

    @abstractmethod
    def reading(self, row: Any) -> Callable[[], Any]:
        """A function that reads what the service says of a row; made in the caller's thread."""

    def look(self, rows: Sequence[Any]) -> dict[int, Finding]:
        """Read what the service says of these rows, and compare; the findings by the id of the row."""
        answers = self.reads.run([Job(row.account, partial(self.reading, row)) for row in rows])
        return {row.id: self.judge(row, read) for row, read in zip(rows, answers, strict=True)}

    def certain(self, rows: Sequence[Any], judged: dict[int, Finding]) -> Sequence[Finding]:
        """The findings that are certain.

        :param rows: as they were read before `judged`.
        """
        stored = {row.id: row for row in rows}
        certain: set[int] = set()
        for looks in range(_MOST_LOOKS):
            doubtful = [number for number, one in judged.items() if one.verdict in DOUBTFUL and number not in certain]
            if not doubtful:
                break
            now, again = self.now(doubtful), []
            for number in doubtful:
                if number not in now:
                    # It was deleted meanwhile.
                    del judged[number]
                elif _version(now[number]) != _version(stored[number]) or (
                    looks == 0 and self._is_recent(judged[number])
                ):
                    again.append(number)
                else:
                    certain.add(number)
            if any(self._is_recent(judged[number]) for number in again):
                self.reads.pause(_CALM)
                now = self.now(again)
            stored |= now
            judged |= self.look([now[number] for number in again if number in now])
        return list(judged.values())

    def _is_recent(self, finding: Finding) -> bool:
        return finding.changed_at is not None and finding.changed_at > self.clock() - _RECENT


@dataclass(frozen=True)
class DepositChecks(Recheck):
    """Compares checkouts with their deposits."""

    read_deposit: ReadDeposit

    def now(self, ids: Iterable[int]) -> dict[int, CheckoutMixin]:
        return self.rows.find(self.rows.models.checkouts, "id", list(ids))

    def reading(self, row: CheckoutMixin) -> Callable[[], Deposit | None]:
        return self.read_deposit(row)

    def judge(self, row: CheckoutMixin, read: Deposit | Exception | None) -> Finding:
        now = self.clock()
        if isinstance(read, Exception):
            return judge_deposit(row, None, now).unreadable(what_to_do(read, row.account))
        if read is not None and read.deposit_id != row.checkout_id:
            answer = "The service answered with another deposit, so nothing is known of this one. Ask the service."
            return judge_deposit(row, None, now).unreadable(answer)
        return judge_deposit(row, read, now)


@dataclass(frozen=True)
class PayoutChecks(Recheck):
    """Compares payouts with their disbursements."""

    calls: PayoutCalls

    def now(self, ids: Iterable[int]) -> dict[int, PayoutMixin]:
        return self.rows.find(self.rows.models.payouts, "id", list(ids))

    def reading(self, row: PayoutMixin) -> Callable[[], FiatDisbursement | None]:
        return partial(_found, self.calls.reading(row))

    def judge(self, row: PayoutMixin, read: FiatDisbursement | Exception | None) -> Finding:
        to, now = self.calls.known_destination(row), self.clock()
        if isinstance(read, Exception):
            return judge_disbursement(row, to, None, now).unreadable(what_to_do(read, row.account))
        return judge_disbursement(row, to, read, now)


def _found(read: Callable[[], FiatDisbursement | None]) -> FiatDisbursement | None:
    try:
        return read()
    except NotFound as error:
        # A gateway's 404 for an unknown route has other words.
        if "not found" in (error.message or "").lower():
            return None
        raise


def _version(row: Any) -> Any:
    """Equal as long as nothing that is compared has changed."""
    return row.changes if isinstance(row, PayoutMixin) else (row.status, row.deposit_status, row.revision)
