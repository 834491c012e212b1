"""Further accounts: made with everything that a merchant needs, and removed with everything that they have.

Each has credentials, a user, the start recipients, payment methods of its own and a webhook address. Two accounts see
nothing of each other; what the service calls unique, such as a reference, is unique within an account.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table as AnyTable, delete, exists, func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME, Merchant, add_lasting_token, add_merchant
from flask_paycheckout.sandbox.auth.tables import AccessToken, Account, User, digest_of
from flask_paycheckout.sandbox.outgoing.webhook_sender import EndpointError, check_endpoint
from flask_paycheckout.sandbox.outgoing.webhooks import WebhookAddress, set_webhook_url
from flask_paycheckout.sandbox.recipients.start_state import COUNT, add_start_recipients
from flask_paycheckout.sandbox.wire.field_types import key_of
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import Table
from flask_paycheckout.sandbox.world.ids import new_ids

MAX_ACCOUNTS = 1000
"""The most accounts of a sandbox, those that registered included."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_SECRETS = ("clientSecret", "accessToken", "password")
# User, organization and policy; two each for secret and token, one for the password.
_OWN_IDS = 8


class AccountNameError(ValueError):
    """A name that no further account can have."""


class NoSuchAccount(LookupError):
    """No account has this name."""


class AccountTaken(Exception):
    """Another account has one of the values already."""

    def __init__(self, field: str) -> None:
        super().__init__(f"another account has this {field}")
        self.field = field


class TooManyAccounts(Exception):
    """There are `MAX_ACCOUNTS` accounts already."""

    def __init__(self) -> None:
        super().__init__(f"there are {MAX_ACCOUNTS} accounts, and there cannot be more")


@dataclass(frozen=True, repr=False)
class NewAccount:
    """An account as a tester asks for it; what is None is generated. It has no repr, because it holds secrets."""

    name: str
    client_id: str | None = None
    client_secret: str | None = None
    access_token: str | None = None
    email: str | None = None
    password: str | None = None
    webhook_url: str | None = None


def check_name(name: str) -> str:
    """Return a name that an account can have. :raises AccountNameError: says why this one cannot."""
    if not _NAME.fullmatch(name):
        raise AccountNameError(
            f"{name[:60]!r} cannot be the name of an account; write 1 to 40 letters, digits, dots, hyphens and"
            " underscores of ASCII, and begin with a letter or a digit"
        )
    return name


def check_further_name(name: str) -> str:
    """Return a name that an account besides the first one can have. :raises AccountNameError: says why it cannot."""
    if name == ACCOUNT_NAME:
        raise AccountNameError(f"{name!r} is the account that every sandbox has; give further ones another name")
    return check_name(name)


def make_account(session: Session, asked: NewAccount) -> Account:
    """Make an account. The transaction must be exclusive, so that no other one takes its values.

    The same number of identifiers is used whatever is asked for, so that later ones repeat with the seed.

    :raises TooManyAccounts: there are as many as there can be.
    :raises AccountTaken: another account has a value that is asked for.
    """
    if (session.scalar(select(func.count()).select_from(Account)) or 0) >= MAX_ACCOUNTS:
        raise TooManyAccounts
    user_id, organization, policy, *ids = new_ids(session, _OWN_IDS + 2 * COUNT)
    new = Merchant(
        name=asked.name,
        user_id=user_id,
        client_id=asked.client_id or f"client-{user_id}",
        client_secret=asked.client_secret or ids[0] + ids[1],
        access_token=asked.access_token or ids[2] + ids[3],
        email=asked.email or f"merchant-{user_id}@example.com",
        password=asked.password or ids[4],
        organization_id=organization,
        policy=policy,
        full_name=asked.name,
        organization_name=asked.name,
    )
    _check_free(
        session,
        name=Account.name == new.name,
        clientId=Account.client_id == new.client_id,
        accessToken=AccessToken.token_digest == digest_of(new.access_token),
        email=User.email_key == key_of(new.email),
    )
    account = add_merchant(session, new)
    add_start_recipients(session, user_id, organization, zip(ids[5::2], ids[6::2], strict=True))
    set_webhook_url(session, user_id, asked.webhook_url)
    return account


def change_keys(
    session: Session, account: Account, client_id: str | None, client_secret: str | None, access_token: str | None
) -> None:
    """Replace secret and token of an account, and the client id when one is given; None is generated.

    The transaction must be exclusive. Tokens from logins stay.

    :raises AccountTaken: another account has a value that is given.
    """
    ids = new_ids(session, 4)
    client_secret, access_token = client_secret or ids[0] + ids[1], access_token or ids[2] + ids[3]
    if account.access_token is not None:
        session.execute(delete(AccessToken).where(AccessToken.token_digest == digest_of(account.access_token)))
    if client_id not in {None, account.client_id}:
        _check_free(session, clientId=Account.client_id == client_id)
    _check_free(session, accessToken=AccessToken.token_digest == digest_of(access_token))
    account.client_id = client_id or account.client_id
    account.client_secret, account.access_token = client_secret, access_token
    add_lasting_token(session, account.user_id, access_token)
    session.flush()


def _check_free(session: Session, **taken: ColumnElement[bool]) -> None:
    for field, condition in taken.items():
        if session.scalar(select(exists().where(condition))):
            raise AccountTaken(field)


def find_account(session: Session, name: str, *, for_change: bool = False) -> Account:
    """Find an account by its name.

    :param for_change: lock it, so that two changes happen one after the other.
    :raises NoSuchAccount: there is none.
    """
    wanted = select(Account).where(Account.name == name)
    account = session.scalars(wanted.with_for_update() if for_change else wanted).one_or_none()
    if account is None:
        raise NoSuchAccount(name)
    return account


def list_accounts(session: Session, *conditions: ColumnElement[bool]) -> list[dict[str, Any]]:
    """The accounts that fulfil the conditions, with their secrets: the first one, then by name."""
    rows = session.execute(
        select(Account, User.email, WebhookAddress.url)
        .outerjoin(User, User.id == Account.user_id)
        .outerjoin(WebhookAddress, WebhookAddress.user_id == Account.user_id)
        .where(*conditions)
        .limit(MAX_ACCOUNTS)
    )
    shown = [_describe(account, email, url) for account, email, url in rows]
    return sorted(shown, key=lambda one: (one["name"] != ACCOUNT_NAME, one["name"]))


def describe_account(session: Session, name: str) -> dict[str, Any]:
    """One account as the control interface shows it, with its secrets. :raises NoSuchAccount: there is none."""
    for shown in list_accounts(session, Account.name == name):
        return shown
    raise NoSuchAccount(name)


def without_secrets(shown: dict[str, Any]) -> dict[str, Any]:
    """An account as a list shows it."""
    return {field: value for field, value in shown.items() if field not in _SECRETS}


def _describe(account: Account, email: str | None, url: str | None) -> dict[str, Any]:
    return {
        "name": account.name,
        "userId": account.user_id,
        "clientId": account.client_id,
        "clientSecret": account.client_secret,
        "accessToken": account.access_token,
        "email": email,
        "password": account.password,
        "webhookUrl": url,
    }


def remove_account(session: Session, account: Account) -> None:
    """Remove an account with all that it has; the request log keeps its lines. The transaction must be exclusive."""
    for table in reversed(Table.metadata.sorted_tables):
        for condition in _rows_of(table, account.user_id):
            session.execute(table.delete().where(condition))
    session.expunge_all()


def _rows_of(table: AnyTable, user_id: str) -> Iterator[ColumnElement[bool]]:
    """The condition of the rows that belong to an account, directly or through the row that they refer to."""
    if "user_id" in table.columns:
        yield table.columns["user_id"] == user_id
        return
    for key in table.foreign_keys:
        for owned in _rows_of(key.column.table, user_id):
            yield key.parent.in_(select(key.column).where(owned))


def make_start_accounts(session: Session, asked: Iterable[NewAccount]) -> list[NewAccount]:
    """Make those of these accounts that do not exist yet, and return all of them with their credentials.

    :raises AccountNameError: one of them cannot be made.
    """
    # In the order of their names, so that every start and every reset gives them the same identifiers.
    return [_at_start(session, one) for one in sorted(asked, key=lambda one: one.name)]


def _at_start(session: Session, asked: NewAccount) -> NewAccount:
    try:
        user_id = find_account(session, asked.name).user_id
        if asked.webhook_url is not None:
            set_webhook_url(session, user_id, asked.webhook_url)
    except NoSuchAccount:
        try:
            make_account(session, asked)
        except (TooManyAccounts, AccountTaken) as wrong:
            raise AccountNameError(f"the account {asked.name!r} cannot be made: {wrong}") from None
    shown = describe_account(session, asked.name)
    return NewAccount(
        name=shown["name"],
        client_id=shown["clientId"],
        client_secret=shown["clientSecret"],
        access_token=shown["accessToken"],
        email=shown["email"],
        password=shown["password"],
        webhook_url=shown["webhookUrl"],
    )


def check_webhook_url(field: str, url: str) -> str:
    """Return an address of webhooks. :raises FieldError: none can be sent there."""
    try:
        check_endpoint(url, loopback_only=world().loopback_webhooks_only)
    except EndpointError as wrong:
        raise FieldError(f"{field} {wrong}.") from None
    return url
