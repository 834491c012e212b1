"""Signed reads with keys that the service refused, so that their alarm ends though nobody pays meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from flask_paycheckout.checkouts.payments import says_absent
from flask_paycheckout.client import NotFound, PaymentsError
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.per_process import Guarded
from flask_paycheckout.service.calls import READ, Service
from flask_paycheckout.service.record import READS, SIGNED, failing_calls
from flask_paycheckout.wiring import Wiring

_EVERY = timedelta(minutes=10)
# The accounts that one round tries, so that many broken ones keep no round.
_MOST = 5


@dataclass(frozen=True, eq=False)
class KeyProbe:
    """Tries refused keys again, each account at most every ten minutes."""

    wiring: Wiring
    service: Service
    _looked: Guarded[list[datetime]] = field(default_factory=lambda: Guarded(lambda: [EPOCH]), init=False)

    def run(self) -> None:
        """Try the accounts with which no call was made for ten minutes."""
        now = self.wiring.clock()
        with self._looked.held() as looked:
            if looked[0] > now - _EVERY:
                return
            looked[0] = now
        for account in sorted(self._refused(now))[:_MOST]:
            self._try(account)
        self.service.record.write()

    def _refused(self, now: datetime) -> Iterator[str]:
        last: dict[str, datetime] = {}
        for calls in failing_calls(self.wiring.engine(), self.wiring.models.services, now):
            if calls.operation in SIGNED:
                last[calls.account] = max(last.get(calls.account, EPOCH), calls.last_failure_at)
        return (account for account, at in last.items() if at <= now - _EVERY)

    def _try(self, account: str) -> None:
        record = self.service.record
        try:
            with self.service.permit(READ, account) as permit:
                permit.ask(lambda client: client.deposits.get(f"no-such-deposit-{uuid4().hex}"))
        except PaymentsError as error:
            if not (isinstance(error, NotFound) and says_absent(error)):
                record.on_outcome(READS, account, error)
                return
        for operation in SIGNED:
            record.on_answer(operation, account)
