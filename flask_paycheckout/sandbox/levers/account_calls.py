"""The calls below `/_sandbox/accounts`, which are documented in `control.py`."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, Response

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.levers.account_switches import read_switches, set_switches
from flask_paycheckout.sandbox.levers.accounts import (
    AccountNameError,
    NewAccount,
    change_keys,
    check_name,
    check_webhook_url,
    describe_account,
    find_account,
    list_accounts,
    make_account,
    remove_account,
    without_secrets,
)
from flask_paycheckout.sandbox.levers.answers import answer
from flask_paycheckout.sandbox.outgoing.webhooks import set_webhook_url, webhook_url
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.field_types import EmailAddress
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_text, read_object, read_text
from flask_paycheckout.sandbox.world.database import transaction

accounts = Blueprint("accounts", __name__, url_prefix="/accounts")

# Both are sent in headers, and all three are pasted into shells and settings.
_CREDENTIAL = re.compile(r"[!-~]{1,80}")


@accounts.get("")
def read_accounts() -> Response:
    with transaction() as session:
        return answer([without_secrets(shown) for shown in list_accounts(session)])


@accounts.post("")
def make() -> Response:
    """Make an account; what the body does not give is generated."""
    asked = _read_account(read_object())
    with transaction(exclusive=True) as session:
        make_account(session, asked)
        return answer(describe_account(session, asked.name))


def _read_account(body: dict[str, Any]) -> NewAccount:
    url = body.get("webhookUrl")
    try:
        name = check_name(read_text(body, "name"))
    except AccountNameError as wrong:
        raise FieldError(f"name {wrong}.") from None
    return NewAccount(
        name=name,
        client_id=_credential(body, "clientId"),
        client_secret=_credential(body, "clientSecret"),
        access_token=_credential(body, "accessToken"),
        email=EmailAddress().read("email", body.get("email")),
        password=optional_text(body, "password"),
        webhook_url=None if url is None else read_url("webhookUrl", url),
    )


def _credential(body: dict[str, Any], field: str) -> str | None:
    value = body.get(field)
    if value is not None and not (isinstance(value, str) and _CREDENTIAL.fullmatch(value)):
        raise FieldError(f"{field} must be 1 to 80 visible characters of ASCII.")
    return value


@accounts.get("/<name>")
def read_account(name: str) -> Response:
    with transaction() as session:
        return answer(describe_account(session, name))


@accounts.delete("/<name>")
def remove(name: str) -> Response:
    """Remove an account with all that it has."""
    if name == ACCOUNT_NAME:
        raise CallRefused(409, "name", "is that of the first account, which always exists", "Name another account.")
    with transaction(exclusive=True) as session:
        shown = describe_account(session, name)
        remove_account(session, find_account(session, name))
    return answer(without_secrets(shown))


@accounts.post("/<name>/keys")
def replace_keys(name: str) -> Response:
    """Give an account a new client secret and access token; the old ones are refused. The client id may change too."""
    body = read_object(empty={})
    given = {field: _credential(body, field) for field in ("clientId", "clientSecret", "accessToken")}
    with transaction(exclusive=True) as session:
        change_keys(session, find_account(session, name), *given.values())
        return answer(describe_account(session, name))


@accounts.get("/<name>/webhook-endpoint")
def read_webhook_endpoint(name: str) -> Response:
    with transaction() as session:
        return answer({"url": webhook_url(session, find_account(session, name).user_id)})


@accounts.put("/<name>/webhook-endpoint")
def set_webhook_endpoint(name: str) -> Response:
    """Set where webhooks of the account go from now on; null for nowhere."""
    url = read_object().get("url")
    if url is not None:
        read_url("url", url)
    with transaction() as session:
        set_webhook_url(session, find_account(session, name, for_change=True).user_id, url)
    return answer({"url": url})


def read_url(field: str, url: object) -> str:
    """Read an address of webhooks."""
    if not isinstance(url, str):
        raise FieldError(f"{field} must be a string or null.")
    return check_webhook_url(field, url)


@accounts.get("/<name>/switches")
def read_account_switches(name: str) -> Response:
    with transaction() as session:
        return answer(read_switches(session, find_account(session, name)))


@accounts.post("/<name>/switches")
def switch_account(name: str) -> Response:
    body = read_object()
    with transaction() as session:
        account = find_account(session, name, for_change=True)
        set_switches(session, account, body)
        return answer(read_switches(session, account))
