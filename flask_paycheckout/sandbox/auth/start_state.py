"""Accounts that work at once, without registration: the one that exists from the start, and testers' accounts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import AccessToken, User, digest_of, password_digest
from flask_paycheckout.sandbox.wire.field_types import key_of
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import World, current_time, world
from flask_paycheckout.sandbox.world.settings import derived

ACCOUNT_NAME = "default"
CLIENT_SECRET = "sandbox-secret-0123456789abcdef"  # noqa: S105 - published on purpose, it guards play money
PASSWORD = "sandbox-password"  # noqa: S105
ACCESS_TOKEN = "sandbox-access-token"  # noqa: S105
USER_ID = "5a6d00000000000000000001"

ORGANIZATION_ID = "5a6d00000000000000000002"
INVITED_ID = "5a6d00000000000000000004"

_AGE = timedelta(days=90)
_INVITED_FOR = timedelta(days=2)
INVITATION_LASTS = timedelta(days=7)
"""How long an invitation is valid."""


@dataclass(frozen=True, repr=False)
class Merchant:
    """A new account with its user and an access token that never expires. It has no repr, because it holds secrets."""

    name: str
    user_id: str
    client_id: str
    client_secret: str
    access_token: str
    email: str
    password: str
    organization_id: str
    policy: str
    full_name: str
    organization_name: str


FIRST = Merchant(
    name=ACCOUNT_NAME,
    user_id=USER_ID,
    client_id="sandbox-client",
    client_secret=CLIENT_SECRET,
    access_token=ACCESS_TOKEN,
    email="merchant@example.com",
    password=PASSWORD,
    organization_id=ORGANIZATION_ID,
    policy="5a6d00000000000000000003",
    full_name="Sandbox Merchant",
    organization_name="Sandbox Shop",
)
"""The account that always exists."""


def first_merchant(here: World) -> Merchant:
    """The first account of a world: its credentials are published, or follow from the secret of a world for others."""
    if not (here.name or here.is_shared):
        return FIRST
    secrets = ("client_id", "client_secret", "access_token", "password")
    return replace(FIRST, **{name: derived(f"{name} {here.control_token}", 20) for name in secrets})


def add_merchant(session: Session, new: Merchant) -> Account:
    """Add an account with its user, who is verified and registered 90 days ago."""
    now = world().clock.begin()
    account = Account(
        user_id=new.user_id,
        **{name: getattr(new, name) for name in ("name", "client_id", "client_secret", "password", "access_token")},
        checkout_enabled=True,
    )
    session.add(account)
    session.flush()
    session.add(_user(new, new.user_id, new.email, new.full_name, now - _AGE, is_active=True, is_verified=True))
    add_token(session, new.user_id, new.access_token)
    return account


def _user(new: Merchant, user_id: str, email: str, name: str, at: datetime, **columns: Any) -> User:
    return make_user(
        *(user_id, email, name, at, new.password),
        account_id=new.user_id,
        organization_id=new.organization_id,
        organization_name=new.organization_name,
        policy=new.policy,
        country="United States",
        country_code="US",
        **columns,
    )


def make_user(user_id: str, email: str, name: str, at: datetime, password: str, **columns: Any) -> User:
    """A user who was added at that time, with these columns besides."""
    digest = password_digest(user_id, password)
    times = {"created_at": at, "updated_at": at}
    return User(id=user_id, email=email, email_key=key_of(email), name=name, password_digest=digest, **times, **columns)


def add_invited_user(session: Session, first: Merchant) -> None:
    """Add a user of the first account who was invited and has not logged in yet, with the account's password."""
    invited_at = world().clock.begin() - _INVITED_FOR
    invited = _user(
        *(first, INVITED_ID, "invited@example.com", "Invited Colleague", invited_at),
        is_active=False,
        is_verified=False,
        invited_at=invited_at,
        invitation_expires_at=invited_at + INVITATION_LASTS,
    )
    session.add(invited)


def add_token(session: Session, user_id: str, token: str, lifetime: timedelta | None = None) -> None:
    """Add an access token of an account, which its owner's id names; without a lifetime it never expires."""
    expires_at = None if lifetime is None else current_time() + lifetime
    session.add(AccessToken(token_digest=digest_of(token), user_id=user_id, expires_at=expires_at))
