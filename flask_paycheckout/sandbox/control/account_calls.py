"""The calls below `/_sandbox/accounts`, and the first account's calls without its name."""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import delete
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.checkouts.methods import (
    CONVERSIONS,
    METHODS,
    Conversion,
    PaymentMethod,
    as_switched,
)
from flask_paycheckout.sandbox.control.accounts import (
    AccountRecord,
    AccountWithSecrets,
    NewAccount,
    NewKeys,
    change_keys,
    describe_account,
    find_account,
    list_accounts,
    make_account,
)
from flask_paycheckout.sandbox.control.calls import call
from flask_paycheckout.sandbox.outgoing.webhook_sender import WebhookUrl
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import FieldError, Record
from flask_paycheckout.sandbox.wire.field_types import Flag, Request, Text, listed
from flask_paycheckout.sandbox.world.accounts import Account

_MAX_ITEMS = 200


class MethodChange(Request):
    """A payment method that is switched."""

    code: Text
    enabled: Flag


class ConversionChange(Request):
    """A conversion that is switched."""

    input_currency: Text
    output_currency: Text
    enabled: Flag


class NewSwitches(Request):
    """Switches of an account to change; the others stay."""

    checkout_enabled: Flag | None = None
    payment_methods: Annotated[list[MethodChange], listed(_MAX_ITEMS, 0)] = msgspec.field(default_factory=list)
    conversions: Annotated[list[ConversionChange], listed(_MAX_ITEMS, 0)] = msgspec.field(default_factory=list)


class NewEndpoint(Request):
    """Where webhooks go from now on; None for nowhere."""

    url: WebhookUrl | None = None


class WebhookEndpoint(Record):
    """Where webhooks go."""

    url: str | None


class Switches(Record):
    """The permissions of an account."""

    checkout_enabled: bool
    payment_methods: list[PaymentMethod]
    conversions: list[Conversion]


@call(
    "GET /accounts",
    "lists the accounts: the first one, then the others by name",
    command="accounts list",
    shown="name clientId email webhookUrl",
)
def read_accounts(session: Session) -> list[AccountRecord]:
    return AccountRecord.of_all(list_accounts(session))


@call("POST /accounts", "makes an account", command="accounts make <name>", exclusive=True)
def add_account(session: Session, sent: NewAccount) -> AccountWithSecrets:
    make_account(session, sent)
    return describe_account(session, sent.name)


@call("GET /accounts/<name>", "reads one account", command="accounts show <name>")
def read_account(session: Session, name: str) -> AccountWithSecrets:
    return describe_account(session, name)


@call(
    "DELETE /accounts/<name>",
    "removes an account with all that it has; its lines in the request log stay",
    command="accounts remove <name>",
    exclusive=True,
)
def delete_account(session: Session, name: str) -> AccountRecord:
    if name == ACCOUNT_NAME:
        raise CallRefused(409, "name", "is that of the first account, which always exists", "Name another account.")
    account = describe_account(session, name)
    # The foreign keys of its rows cascade; the request log has none.
    session.execute(delete(Account).where(Account.name == name))
    return AccountRecord.of(account)


@call(
    "POST /accounts/<name>/keys",
    "gives an account another client secret and access token; the old ones are refused at once",
    command="accounts keys <name>",
    exclusive=True,
    may_be_empty=True,
)
def replace_keys(session: Session, name: str, sent: NewKeys) -> AccountWithSecrets:
    change_keys(session, find_account(session, name), sent)
    return describe_account(session, name)


@call("PUT /webhook-endpoint", "sets where webhooks of the first account are sent; null for nowhere")
@call("PUT /accounts/<name>/webhook-endpoint", "sets where webhooks of an account are sent; null for nowhere")
def set_webhook_endpoint(session: Session, sent: NewEndpoint, name: str = ACCOUNT_NAME) -> WebhookEndpoint:
    find_account(session, name, for_change=True).webhook_url = sent.url
    return WebhookEndpoint(sent.url)


@call("GET /accounts/<name>/switches", "reads what an account may do")
def read_switches(session: Session, name: str) -> Switches:
    account = find_account(session, name)
    return Switches(
        account.checkout_enabled,
        as_switched(session, account.user_id, METHODS.values()),
        as_switched(session, account.user_id, CONVERSIONS.values()),
    )


@call("POST /accounts/<name>/switches", "switches parts of an account on or off")
def switch_account(session: Session, sent: NewSwitches, name: str) -> Switches:
    """Set the switches that the body names, all of them or none."""
    account = find_account(session, name, for_change=True)
    if sent.checkout_enabled is not None:
        account.checkout_enabled = sent.checkout_enabled
    methods = {change.code: change.enabled for change in sent.payment_methods}
    pairs = {f"{change.input_currency}-{change.output_currency}": change.enabled for change in sent.conversions}
    for field, changes, existing in (("code", methods, METHODS), ("conversions", pairs, CONVERSIONS)):
        for missing in changes.keys() - existing.keys():
            raise FieldError(f"{field} {missing} does not exist; GET /_sandbox/accounts/{name}/switches lists them.")
    account.switched = account.switched | methods | pairs
    return read_switches(session, name)
