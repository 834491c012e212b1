"""What a team sees of the database: rows of its own accounts, in every query of the ORM during its request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from flask import g
from sqlalchemy import ColumnElement, and_, event, or_, select
from sqlalchemy import Table as AnyTable
from sqlalchemy.orm import ORMExecuteState, with_loader_criteria

from flask_paycheckout.sandbox.auth.tables import Account, User
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.access import LIMITS, is_limited
from flask_paycheckout.sandbox.world.database import Table, db, transaction

_EVERYTHING = "of_all_accounts"
OF_ALL_ACCOUNTS = {_EVERYTHING: True}
"""Execution options of a statement that a team's request makes on the sandbox itself."""
BELONGS_TO_ALL = frozenset(
    {"world_settings", "payment_method", "conversion", "call_count", "signed_in", "sign_in_attempt"}
)
"""Tables whose rows belong to no account."""


def limit_to(names: Iterable[str]) -> None:
    """Let the rest of the current request see and change only what belongs to these accounts."""
    with transaction() as session:
        found = session.execute(
            select(Account.user_id, Account.name, Account.client_id).where(Account.name.in_(names))
        ).all()
    user_ids = [account.user_id for account in found]
    calls = or_(
        LoggedRequest.account.in_(list(names)),
        # A call that was not accepted belongs to the account whose client id it gave.
        and_(LoggedRequest.account.is_(None), LoggedRequest.client_id.in_([account.client_id for account in found])),
    )
    limits: list[tuple[type[Any], ColumnElement[bool] | None]] = [
        (model, _owned(table, user_ids)) for model, table in _models()
    ]
    limits.append((LoggedRequest, calls))
    setattr(
        g,
        LIMITS,
        [
            with_loader_criteria(model, condition, include_aliases=True)
            for model, condition in limits
            if condition is not None
        ],
    )


@event.listens_for(db.session, "do_orm_execute")
def _limit(state: ORMExecuteState) -> None:
    if is_limited() and not state.execution_options.get(_EVERYTHING) and not state.is_insert:
        state.statement = state.statement.options(*getattr(g, LIMITS))


@cache
def _models() -> tuple[tuple[type[Any], AnyTable], ...]:
    found = ((mapper.class_, mapper.local_table) for mapper in Table.registry.mappers)
    return tuple((model, table) for model, table in found if isinstance(table, AnyTable) and model is not LoggedRequest)


def _owned(table: AnyTable, user_ids: list[str]) -> ColumnElement[bool] | None:
    """The condition that a row belongs to one of the accounts; None for rows that belong to none."""
    if table.name in BELONGS_TO_ALL:
        return None
    column = "account_id" if table.name == User.__tablename__ else "user_id"
    if column in table.columns:
        return table.columns[column].in_(user_ids)
    return or_(*_through_parents(table, user_ids))


def _through_parents(table: AnyTable, user_ids: list[str]) -> Iterator[ColumnElement[bool]]:
    for key in table.foreign_keys:
        owned = _owned(key.column.table, user_ids)
        if owned is not None:
            yield key.parent.in_(select(key.column).where(owned))
