"""Accounts that work at once, without registration: the first account, which always exists, and testers' accounts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import User, password_digest
from flask_paycheckout.sandbox.wire.field_types import key_of
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import World
from flask_paycheckout.sandbox.world.settings import derived

ACCOUNT_NAME = "default"
CLIENT_SECRET = "sandbox-secret-0123456789abcdef"  # noqa: S105 - published on purpose, it guards play money
PASSWORD = "sandbox-password"  # noqa: S105
ACCESS_TOKEN = "sandbox-access-token"  # noqa: S105
USER_ID = "5a6d00000000000000000001"
INVITED_ID = "5a6d00000000000000000004"

AGE = timedelta(days=90)
"""How long before the start testers' accounts registered."""
_INVITED_FOR = timedelta(days=2)
INVITATION_LASTS = timedelta(days=7)
"""How long an invitation is valid."""


PUBLISHED = {
    "client_id": "sandbox-client",
    "client_secret": CLIENT_SECRET,
    "access_token": ACCESS_TOKEN,
    "password": PASSWORD,
}
"""The credentials of the first account of a sandbox that only its developer uses."""


def first_keys(here: World) -> dict[str, str]:
    """The credentials of a world's first account: published, or derived from the control token if others use it."""
    if not (here.name or here.is_shared):
        return PUBLISHED
    return {name: derived(f"{name} {here.control_token}", 20) for name in PUBLISHED}


def add_first_account(session: Session, here: World, webhook_url: str | None) -> None:
    """Add the account that always exists, with a second user, who was invited and has not logged in yet."""
    account = Account(
        name=ACCOUNT_NAME,
        user_id=USER_ID,
        **first_keys(here),
        organization_id="5a6d00000000000000000002",
        organization_name="Sandbox Shop",
        policy="5a6d00000000000000000003",
        webhook_url=webhook_url,
    )
    begun, password = here.clock.begin(), str(account.password)
    add_account(session, account, "merchant@example.com", "Sandbox Merchant", begun - AGE, password)
    invited_at = begun - _INVITED_FOR
    invited = make_user(
        *(account, INVITED_ID, "invited@example.com", "Invited Colleague", invited_at, password),
        is_active=False,
        is_verified=False,
        invited_at=invited_at,
        invitation_expires_at=invited_at + INVITATION_LASTS,
    )
    session.add(invited)


def add_account(
    session: Session, account: Account, email: str, name: str, at: datetime, password: str, **columns: Any
) -> User:
    """Add an account with its user, who registered then; active and verified, unless `columns` says otherwise."""
    session.add(account)
    session.flush()
    user = make_user(account, account.user_id, email, name, at, password, **columns)
    session.add(user)
    session.flush()
    return user


def make_user(
    account: Account, user_id: str, email: str, name: str, at: datetime, password: str, **columns: Any
) -> User:
    """Make a user of an account, added at that time; `columns` replace or add to the defaults."""
    return User(
        id=user_id,
        account_id=account.user_id,
        email=email,
        email_key=key_of(email),
        name=name,
        password_digest=password_digest(user_id, password),
        created_at=at,
        updated_at=at,
        **{"country": "United States", "country_code": "US"} | columns,
    )
