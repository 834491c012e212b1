"""The banks that the payment service lists as destinations, for forms and for the people who approve payouts."""

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

_CACHED_FOR = timedelta(hours=1)
# The time for which an empty list is cached, for instance after a failed call.
_EMPTY_CACHED_FOR = timedelta(minutes=1)
_Cache = dict[str, tuple[datetime, tuple[FiatPaymentMethod, ...]]]


@dataclass(frozen=True, eq=False)
class Banks:
    """Caches the service's list of banks for an hour; not to be used inside a transaction."""

    wiring: Wiring
    accounts: Accounts
    service: Service
    _cache: Guarded[_Cache] = field(default_factory=lambda: Guarded(_Cache), init=False)

    def named(self, account: str, currency: str | None = None) -> Mapping[str, str]:
        """The names of the banks by their code; empty if the service does not list any.

        :param account: the merchant account that pays.
        :param currency: only banks for this currency.
        """
        banks = [bank for bank in self._listed(account) if currency in (None, bank.currency)]
        return {bank.bank_code: bank.bank_name or bank.bank_code for bank in banks}

    def lacks(self, account: str, currency: str, bank: str) -> bool:
        """Whether the service lists banks, but none with this name."""
        names = {unjoined(name).casefold() for name in self.named(account, currency).values()}
        return bool(names) and unjoined(bank).casefold() not in names

    def _listed(self, account: str) -> Sequence[FiatPaymentMethod]:
        now = self.wiring.clock()
        with self._cache.held() as cache:
            until, banks = cache.get(account, (now, ()))
        if until > now:
            return banks
        try:
            banks = self._ask(account)
        except PaymentsError:
            # Without a list, forms accept any name, because the service may accept it.
            banks = ()
        with self._cache.held() as cache:
            cache[account] = now + (_CACHED_FOR if banks else _EMPTY_CACHED_FOR), banks
        return banks

    def _ask(self, account: str) -> tuple[FiatPaymentMethod, ...]:
        payer = self.accounts.payer_of(account)
        token = self.accounts.access_token_of(payer) if payer else self.wiring.settings.access_token
        if token is None:
            return ()
        with self.service.permit(BANKS, payer) as permit:
            return permit.ask(lambda client: client.fiat_disbursements.payment_methods())
