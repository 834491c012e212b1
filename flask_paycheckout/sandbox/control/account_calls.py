"""The calls below `/_sandbox/accounts`, which are documented in `calls.py`."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, Response
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.payment_methods import all_conversions, all_methods
from flask_paycheckout.sandbox.checkouts.tables import Conversion, ConversionSwitch, MethodSwitch, PaymentMethod
from flask_paycheckout.sandbox.control.accounts import (
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
from flask_paycheckout.sandbox.control.pages import answer
from flask_paycheckout.sandbox.outgoing.webhooks import set_webhook_url, webhook_url
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.field_types import EmailAddress
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_boolean, optional_text, read_object, read_text
from flask_paycheckout.sandbox.world.database import transaction

_MAX_ITEMS = 200


def read_switches(session: Session, account: Account) -> dict[str, Any]:
    """All switches of an account, with fees, limits and rates."""
    return {
        "checkoutEnabled": account.checkout_enabled,
        "paymentMethods": [_method(method) for method in all_methods(session, account.user_id)],
        "conversions": [_conversion(conversion) for conversion in all_conversions(session, account.user_id)],
    }


def set_switches(session: Session, account: Account, body: dict[str, Any]) -> None:
    """Set the switches of an account that the body names, all of them or none. The caller has locked the account."""
    enabled = optional_boolean(body, "checkoutEnabled")
    if enabled is not None:
        account.checkout_enabled = enabled
    for item in _items(body, "paymentMethods"):
        code = read_text(item, "code")
        _check_exists(session.get(PaymentMethod, code), f"code {code}")
        session.merge(MethodSwitch(user_id=account.user_id, code=code, enabled=_enabled(item)))
    for item in _items(body, "conversions"):
        pair = read_text(item, "inputCurrency"), read_text(item, "outputCurrency")
        _check_exists(session.get(Conversion, pair), f"conversions {pair[0]}-{pair[1]}")
        session.merge(
            ConversionSwitch(
                user_id=account.user_id, input_currency=pair[0], output_currency=pair[1], enabled=_enabled(item)
            )
        )
    session.flush()


def _enabled(item: dict[str, Any]) -> bool:
    enabled = optional_boolean(item, "enabled")
    if enabled is None:
        raise FieldError("enabled is required.")
    return enabled


def _check_exists(found: object, name: str) -> None:
    if found is None:
        raise FieldError(f"{name} does not exist; GET /_sandbox/account lists them.")


def _items(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = body.get(name) or []
    if not isinstance(items, list) or len(items) > _MAX_ITEMS or not all(isinstance(item, dict) for item in items):
        raise FieldError(f"{name} must be a list of at most {_MAX_ITEMS} objects.")
    return items


def _method(method: PaymentMethod) -> dict[str, Any]:
    return {
        "code": method.code,
        "name": method.name,
        "group": method.group,
        "currency": method.currency,
        "flatFeeAmount": method.flat_fee,
        "percentFeeAmount": method.percent_fee,
        "minAmount": method.min_amount,
        "maxAmount": method.max_amount,
        "enabled": method.enabled,
    }


def _conversion(conversion: Conversion) -> dict[str, Any]:
    return {
        "inputCurrency": conversion.input_currency,
        "outputCurrency": conversion.output_currency,
        "rate": conversion.rate,
        "enabled": conversion.enabled,
    }


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
    return NewAccount(
        name=check_name(read_text(body, "name")),
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
