"""Further accounts: made with everything that a merchant needs, and removed with everything that they have.

Each has credentials, a user, the start recipients, payment methods of its own and a webhook address. Accounts
cannot see each other; values that the service calls unique, such as references, are unique within an account.
"""

from __future__ import annotations

from typing import Annotated

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME, AGE, add_account
from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.outgoing.webhook_sender import WebhookUrl
from flask_paycheckout.sandbox.recipients.tables import COUNT, add_start_recipients
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import Record
from flask_paycheckout.sandbox.wire.field_types import Email, Request, Text, key_of, matching
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.settings import new_ids

NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,39}"
Name = Annotated[
    str,
    matching(
        NAME,
        "a name of 1 to 40 letters, digits, dots, hyphens and underscores of ASCII, beginning with a letter or digit",
    ),
]
"""The name of an account or a world."""
# Client id and access token are sent in headers, and all credentials are pasted into shells and settings.
Credential = Annotated[str, matching("[!-~]{1,80}", "1 to 80 visible characters of ASCII")]
# Identifiers of an account: user, organization and policy; two each for secret and token, one for the password.
_OWN_IDS = 8


class NewKeys(Request):
    """Credentials that a tester asks for; what is None is generated."""

    client_id: Credential | None = None
    client_secret: Credential | None = None
    access_token: Credential | None = None


class NewAccount(NewKeys, kw_only=True):
    """An account as a tester asks for it."""

    name: Name
    email: Email | None = None
    password: Text | None = None
    webhook_url: WebhookUrl | None = None


class AccountRecord(Record):
    """An account as a list shows it."""

    name: str
    user_id: str
    client_id: str
    email: str | None
    webhook_url: str | None


class AccountWithSecrets(AccountRecord):
    """An account as its owner sees it."""

    client_secret: str
    access_token: str | None
    password: str | None


def make_account(session: Session, new: NewAccount) -> None:
    """Make an account. The transaction must be exclusive, so that no other one takes its values.

    Each call uses the same number of identifiers, so that later identifiers repeat with the seed.

    :raises CallRefused: another account has a requested value.
    """
    user_id, organization, policy, *ids = new_ids(session, _OWN_IDS + 2 * COUNT)
    email = new.email or f"merchant-{user_id}@example.com"
    account = Account(
        name=new.name,
        user_id=user_id,
        client_id=new.client_id or f"client-{user_id}",
        client_secret=new.client_secret or ids[0] + ids[1],
        access_token=new.access_token or ids[2] + ids[3],
        password=new.password or ids[4],
        organization_id=organization,
        organization_name=new.name,
        policy=policy,
        webhook_url=new.webhook_url,
    )
    _check_free(
        session,
        name=Account.name == account.name,
        clientId=Account.client_id == account.client_id,
        accessToken=Account.access_token == account.access_token,
        email=User.email_key == key_of(email),
    )
    add_account(session, account, email, new.name, world().clock.begin() - AGE, str(account.password))
    add_start_recipients(session, account, zip(ids[5::2], ids[6::2], strict=True))


def change_keys(session: Session, account: Account, new: NewKeys) -> None:
    """Replace secret and token of an account, and the client id when one is given; None is generated.

    The transaction must be exclusive. Tokens from logins stay.

    :raises CallRefused: another account has a given value.
    """
    ids = new_ids(session, 4)
    access_token = new.access_token or ids[2] + ids[3]
    if new.client_id not in {None, account.client_id}:
        _check_free(session, clientId=Account.client_id == new.client_id)
    _check_free(session, accessToken=(Account.access_token == access_token) & (Account.user_id != account.user_id))
    account.client_id = new.client_id or account.client_id
    account.client_secret, account.access_token = new.client_secret or ids[0] + ids[1], access_token
    session.flush()


def _check_free(session: Session, **conditions: ColumnElement[bool]) -> None:
    for field, condition in conditions.items():
        if session.scalar(select(exists().where(condition))):
            remedy = "Remove that account, or give another value, or none to have it generated."
            raise CallRefused(409, field, "is that of another account", remedy)


def find_account(session: Session, name: str, *, for_change: bool = False) -> Account:
    """Find an account by its name.

    :param for_change: lock it, so that two changes happen one after the other.
    :raises CallRefused: there is none.
    """
    query = select(Account).where(Account.name == name)
    account = session.scalar(query.with_for_update() if for_change else query)
    if account is None:
        raise CallRefused(404, "account", "does not exist", "GET /_sandbox/accounts lists them.")
    return account


def list_accounts(session: Session, *conditions: ColumnElement[bool]) -> list[AccountWithSecrets]:
    """The accounts that fulfil the conditions, with their secrets: the first one, then by name."""
    rows = session.execute(
        select(Account.__table__, User.email).outerjoin(User, User.id == Account.user_id).where(*conditions)
    )
    accounts = AccountWithSecrets.of_all(rows)
    return sorted(accounts, key=lambda account: (account.name != ACCOUNT_NAME, account.name))


def describe_account(session: Session, name: str) -> AccountWithSecrets:
    """One account with its secrets. :raises CallRefused: there is none."""
    find_account(session, name)
    (account,) = list_accounts(session, Account.name == name)
    return account
