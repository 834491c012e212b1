"""The filter `?account=NAME` of the inspector's lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.inspector.blueprint import query_text
from flask_paycheckout.sandbox.outgoing.webhook_addresses import webhook_url

MAX_SUGGESTED = 100
"""The most names that a page suggests; any other can be typed."""


@dataclass(frozen=True)
class AccountFilter:
    """The account that a list is limited to, and what a page needs to offer others."""

    name: str
    """Empty for all accounts."""
    user_id: str | None
    """None for all accounts, and for a name that no account has."""
    suggested: list[str]
    several: bool
    """Whether there are several accounts, so that a page tells which one each row belongs to."""
    addressed: str
    """The account whose webhook address the page shows: the chosen one, else the first."""
    webhook_url: str | None

    def of(self, column: InstrumentedAttribute[Any] | ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The condition that a row with the user id in this column belongs to the account."""
        return [column == (self.user_id or "")] if self.name else []


def read_filter(session: Session) -> AccountFilter:
    """Read the filter from the address of the page."""
    name = query_text("account")
    addressed = name or ACCOUNT_NAME
    user_id = session.scalar(_user_id_of(name)) if name else None
    count = session.scalar(select(func.count()).select_from(Account)) or 0
    suggested = session.scalars(select(Account.name).order_by(Account.name).limit(MAX_SUGGESTED))
    return AccountFilter(
        name=name,
        user_id=user_id,
        suggested=list(suggested) if count > 1 else [],
        several=count > 1,
        addressed=addressed,
        webhook_url=webhook_url(session, session.scalar(_user_id_of(addressed)) or ""),
    )


def _user_id_of(name: str) -> Select[str]:
    return select(Account.user_id).where(Account.name == name)


def name_of(session: Session, user_id: str) -> str | None:
    """The name of the account that made something."""
    return session.scalar(select(Account.name).where(Account.user_id == user_id))
