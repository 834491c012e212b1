"""Signed reads with keys that the service refused, so that their alarm ends though nobody pays meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from flask_paycheckout.checkouts.deposits import says_absent
from flask_paycheckout.client import NotFound, PaymentsError
from flask_paycheckout.service.calls import READ, Service
from flask_paycheckout.service.record import READS, SIGNED
from flask_paycheckout.wiring import Wiring

_EVERY = timedelta(minutes=10)
# The accounts that one round tries, so that many broken ones keep no round.
_MOST = 5


@dataclass(frozen=True)
class KeyProbe:
    """Tries refused keys again, each account at most every ten minutes."""

    wiring: Wiring
    service: Service

    def run(self) -> None:
        """Try the accounts with which no call was made for ten minutes."""
        before = self.wiring.clock() - _EVERY
        refused = [account for account, at in sorted(self.service.record.refused().items()) if at <= before]
        for account in refused[:_MOST]:
            self._try(account)
        if refused:
            self.service.record.write()

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
