"""`GET /inspector/accounts` and `/inspector/accounts/<name>`: the merchants of this sandbox, without their secrets."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

from flask_paycheckout.sandbox.auth.tables import Account, User
from flask_paycheckout.sandbox.inspector.account_filter import read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, show, show_missing
from flask_paycheckout.sandbox.outgoing.webhook_addresses import WebhookAddress
from flask_paycheckout.sandbox.world.database import transaction

MAX_ROWS = 50
"""Accounts on a page, and users of one."""


@inspector.get("/inspector/accounts")
def show_accounts() -> Response:
    """Show accounts by name; `?account=` shows one, `?after=` continues behind a name."""
    after = query_text("after")
    with transaction() as session:
        accounts = read_filter(session)
        wanted = select(Account.name, Account.client_id, Account.user_id, WebhookAddress.url)
        wanted = wanted.outerjoin(WebhookAddress, WebhookAddress.user_id == Account.user_id)
        wanted = wanted.where(Account.name > after, *accounts.of(Account.user_id))
        found = session.execute(wanted.order_by(Account.name).limit(MAX_ROWS + 1)).all()
    return show(
        "accounts", found=found[:MAX_ROWS], has_more=len(found) > MAX_ROWS, is_first=not after, accounts=accounts
    )


@inspector.get("/inspector/accounts/<name>")
def show_account(name: str) -> Response:
    with transaction() as session:
        account = session.scalars(select(Account).where(Account.name == name)).one_or_none()
        if account is None:
            return show_missing("account")
        address = session.get(WebhookAddress, account.user_id)
        users = select(User).where(User.account_id == account.user_id).order_by(User.created_at).limit(MAX_ROWS)
        people = session.scalars(users).all()
    return show("account", made=account, webhook_url=address.url if address else None, people=people)
