"""The banks that the payments service pays to, as it lists them, for forms and for who approves a payout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from flask_paycheckout.client import FiatPaymentMethod, PaymentsError
from flask_paycheckout.per_process import Guarded
from flask_paycheckout.service.accounts import Accounts
from flask_paycheckout.service.calls import BANKS, Service
from flask_paycheckout.text import unjoined
from flask_paycheckout.wiring import Wiring

_FOR = timedelta(hours=1)
# After a call without an answer.
_FOR_NONE = timedelta(minutes=1)
_Kept = dict[str, tuple[datetime, tuple[FiatPaymentMethod, ...]]]


@dataclass(frozen=True, eq=False)
class Banks:
    """Asks for the banks at most once an hour; never inside a transaction."""

    wiring: Wiring
    accounts: Accounts
    service: Service
    _kept: Guarded[_Kept] = field(default_factory=lambda: Guarded(_Kept), init=False)

    def named(self, account: str, currency: str | None = None) -> Mapping[str, str]:
        """The names of the banks by their code; none where the service does not say.

        :param account: the merchant account that pays.
        :param currency: only banks for this currency.
        """
        listed = [each for each in self._listed(account) if currency in (None, each.currency)]
        return {each.bank_code: each.bank_name or each.bank_code for each in listed}

    def lacks(self, account: str, currency: str, bank: str) -> bool:
        """Whether the service lists banks, and none of this name."""
        known = {unjoined(name).casefold() for name in self.named(account, currency).values()}
        return bool(known) and unjoined(bank).casefold() not in known

    def _listed(self, account: str) -> Sequence[FiatPaymentMethod]:
        now = self.wiring.clock()
        with self._kept.held() as kept:
            until, banks = kept.get(account, (now, ()))
        if until > now:
            return banks
        try:
            banks = self._ask(account)
        except PaymentsError:
            # Without the list a form takes any name, as the service may.
            banks = ()
        with self._kept.held() as kept:
            kept[account] = now + (_FOR if banks else _FOR_NONE), banks
        return banks

    def _ask(self, account: str) -> tuple[FiatPaymentMethod, ...]:
        payer = self.accounts.payer_of(account)
        token = self.accounts.access_token_of(payer) if payer else self.wiring.settings.access_token
        if token is None:
            return ()
        with self.service.permit(BANKS, payer) as permit:
            return permit.ask(lambda client: client.fiat_disbursements.payment_methods())
