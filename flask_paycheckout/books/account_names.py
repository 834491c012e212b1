"""The merchant accounts of checkouts and payouts, found by an index scan however many rows each has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, exists, func, or_, select

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.config.accounts import SETTINGS
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.payouts.payout_states import LIVE
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable
from flask_paycheckout.text import require_account_name
from flask_paycheckout.wiring import Wiring

_LISTED = 1000


@dataclass(frozen=True)
class Merchants:
    """The merchant accounts of one app: stored ones, and ones that the shop gives keys for."""

    wiring: Wiring
    accounts: Accounts

    def names(self, limit: int | None = _LISTED) -> list[str]:
        """The names that checkouts or payouts are stored with, sorted; at most `limit`, unless that is None."""
        models = self.wiring.models
        return self._names(limit, _walk(models.checkouts), _walk(models.payouts))

    def open(self, limit: int | None) -> list[str]:
        """The accounts with checkouts that are still read, or payouts that have not ended; `limit` as for `names`."""
        checkouts, payouts = self.wiring.models.checkouts, self.wiring.models.payouts
        read = _walk(checkouts, checkouts.c.next_read_at.is_not(None))
        return self._names(limit, read, _walk(payouts, payouts.c.status.in_(LIVE)))

    def require(self, name: str) -> str:
        """Return the name of an account that is stored with a checkout or payout, or has keys in the shop.

        :raises ValueError: there is no such account.
        """
        require_account_name(name)
        models = self.wiring.models
        stored = or_(*(exists().where(table.c.account == name) for table in (models.checkouts, models.payouts)))
        if name and not read_rows(self.wiring.engine(), select(stored))[0][0]:
            try:
                self.accounts.client_of(name)
            except AccountUnavailable:
                unknown = f"account {name!r} is unknown: no checkout or payout has it, and the shop gives it no keys"
                raise ValueError(unknown) from None
        return name

    def payer_of(self, name: str) -> tuple[str, bool]:
        """The account whose money pays an account's payouts, and whether it has no access token to send them with.

        It is the account of the settings if the shop says so.
        """
        try:
            token = self.accounts.access_token_of(name)
        except PaymentsError:
            # The shop has no keys for this account. The report names it already, because its calls fail.
            return name, False
        if token is SETTINGS:
            name, token = "", self.wiring.settings.access_token
        return name, token is None

    def _names(self, limit: int | None, *walks: Select[Any]) -> list[str]:
        engine = self.wiring.engine()
        return sorted({name for walk in walks for (name,) in read_rows(engine, walk.limit(limit))})[:limit]


def _walk(table: Table, *having: ColumnElement[bool]) -> Select[Any]:
    """Select each account of a table once, by one index lookup per account.

    :param having: select only accounts with a row for which this holds.
    """
    c = table.c
    walked = select(func.min(c.account).label("account")).cte("found", recursive=True)
    following = select(func.min(c.account)).where(c.account > walked.c.account).scalar_subquery()
    walked = walked.union_all(select(following).where(walked.c.account.is_not(None)))
    # The walk ends with NULL, for which `exists` alone could read the whole table.
    among = [exists().where(c.account == walked.c.account, *having)] if having else []
    return select(walked.c.account).where(walked.c.account.is_not(None), *among)
