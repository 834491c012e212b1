"""`GET /inspector/deposits` and `/inspector/deposits/<id>`: what customers pay."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.inspector.account_filter import name_of, read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, show, show_missing
from flask_paycheckout.sandbox.inspector.newest import Order, newest
from flask_paycheckout.sandbox.world.database import transaction

STATUSES = ("pending", "completed", "failed", "expired", "cancelled")
"""Statuses that the page suggests; others can be forced."""
_ORDER = Order(Deposit.created_at, Deposit.id)


@inspector.get("/inspector/deposits")
def show_deposits() -> Response:
    """Show deposits, newest first, filtered by `?status=`, `?method=` and `?account=`."""
    status, method = query_text("status"), query_text("method")
    filters = [Deposit.status == status] if status else []
    filters += [Deposit.method == method] if method else []
    with transaction() as session:
        expire_due(session)
        accounts = read_filter(session)
        rows = select(Deposit, Account.name).join(Account, Account.user_id == Deposit.user_id)
        page = newest(session, rows, _ORDER, accounts.of(Deposit.user_id), filters)
    return show(
        "deposits", page=page, accounts=accounts, wanted={"status": status, "method": method}, statuses=STATUSES
    )


@inspector.get("/inspector/deposits/<deposit_id>")
def show_deposit(deposit_id: str) -> Response:
    with transaction() as session:
        expire_due(session)
        deposit = session.get(Deposit, deposit_id)
        if deposit is None:
            return show_missing("deposit")
        account = name_of(session, deposit.user_id)
    return show("deposit", deposit=deposit, account=account)
