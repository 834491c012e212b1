"""The merchant accounts that checkouts and payouts are stored with, found along an index however many rows each has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, exists, func, or_, select

from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.config.accounts import SETTINGS
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.order_ids import require_account_name
from flask_paycheckout.parts import Parts
from flask_paycheckout.payouts.payout_states import ENDED, PayoutStatus
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable

_LISTED = 1000
Counts = Mapping[str | None, Mapping[str, int]]
"""By account and state; None stands for all accounts that are not listed."""


@dataclass(frozen=True)
class Merchants:
    """The merchant accounts of one app: those that are stored, and those that the shop gives keys for."""

    parts: Parts
    accounts: Accounts

    def names(self) -> list[str]:
        """The names that checkouts or payouts are stored with; 1,000 at most."""
        with self.parts.engine().connect() as connection:
            return stored_accounts(connection, self.parts.models)

    def require(self, name: str) -> str:
        """Return the name of an account that is stored with a checkout or payout, or has keys in the shop.

        :raises ValueError: there is no such account.
        """
        require_account_name(name)
        with self.parts.engine().connect() as connection:
            known = name == "" or is_stored(connection, self.parts.models, name)
        if not known:
            try:
                self.accounts.client_of(name)
            except AccountUnavailable:
                unknown = f"account {name!r} is unknown: no checkout or payout has it, and the shop gives it no keys"
                raise ValueError(unknown) from None
        return name

    def without_token(self) -> list[str]:
        """The accounts with payouts to be sent that have no access token."""
        payouts = self.parts.models.payouts
        ready = select_payers(payouts, payouts.c.status == PayoutStatus.READY.value)
        with self.parts.engine().connect() as connection:
            names = connection.execute(ready).scalars().all()
        return [name for name in names if self.lacks_token(name)]

    def lacks_token(self, name: str) -> bool:
        """Whether an account has no access token to send payouts with."""
        try:
            token = self.accounts.access_token_of(name)
        except PaymentsError:
            # The shop has no keys for this account. The report names it already, because its calls fail.
            return False
        return (self.parts.settings.access_token if token is SETTINGS else token) is None


def payer_of(payouts: Table) -> ColumnElement[str]:
    """The account that must pay a payout: the one whose money may have paid it already, or its own."""
    return func.coalesce(payouts.c.paid_by, payouts.c.account)


def select_payers(payouts: Table, *where: ColumnElement[bool]) -> Select[Any]:
    """Select the accounts that must pay such payouts, by name."""
    return select(payer_of(payouts)).where(*where).distinct().order_by(payer_of(payouts))


def stored_accounts(connection: Connection, models: Models, limit: int = _LISTED) -> list[str]:
    """The names that checkouts or payouts are stored with, sorted; `limit` at most."""
    return _names(connection, limit, _walk(models.checkouts), _walk(models.payouts))


def is_stored(connection: Connection, models: Models, account: str) -> bool:
    """Whether any checkout or payout is stored with this account."""
    of_tables = [exists().where(table.c.account == account) for table in (models.checkouts, models.payouts)]
    return bool(connection.execute(select(or_(*of_tables))).scalar_one())


def open_accounts(connection: Connection, models: Models, limit: int) -> list[str]:
    """The accounts with checkouts that are still read, or payouts that have not ended, sorted; `limit` at most."""
    checkouts, payouts = models.checkouts, models.payouts
    read = _walk(checkouts, checkouts.c.next_read_at.is_not(None))
    return _names(connection, limit, read, _walk(payouts, payouts.c.status.in_([*set(PayoutStatus) - ENDED])))


def count_by_status(
    connection: Connection, models: Models, listed: Sequence[str], account: str | None = None
) -> tuple[Counts, Counts]:
    """Count the checkouts, and the payouts, by account and status, every state by its name.

    :param listed: the accounts that are counted each by itself.
    :param account: only this one.
    """
    tables: tuple[tuple[Table, type[StrEnum]], ...] = (models.checkouts, Status), (models.payouts, PayoutStatus)
    found = []
    for table, states in tables:
        c, zeros = table.c, dict.fromkeys(map(str, states), 0)
        of_account = [] if account is None else [c.account == account]
        counting = select(c.account, c.status, func.count()).where(*of_account).group_by(c.account, c.status)
        # The account of the settings has its zeros before its first row, so that alerts find it.
        counts: dict[str | None, dict[str, int]] = {of: dict(zeros) for of in ("", *listed)}
        for name, status, count in connection.execute(counting):
            of = counts.setdefault(name if name in listed else None, dict(zeros))
            of[status] = of.get(status, 0) + count
        found.append(counts)
    return found[0], found[1]


def _walk(table: Table, *having: ColumnElement[bool]) -> Select[Any]:
    """Select each account of a table once, by one search of the index for each.

    :param having: only accounts with a row for which this holds.
    """
    c = table.c
    found = select(func.min(c.account).label("account")).cte("found", recursive=True)
    following = select(func.min(c.account)).where(c.account > found.c.account).scalar_subquery()
    found = found.union_all(select(following).where(found.c.account.is_not(None)))
    names = select(found.c.account).where(found.c.account.is_not(None))
    if having:
        names = names.where(exists().where(c.account == found.c.account, *having))
    return names


def _names(connection: Connection, limit: int, *walks: Select[Any]) -> list[str]:
    return sorted({name for walk in walks for name in connection.execute(walk.limit(limit)).scalars()})[:limit]
