"""Switches of an account, its payment methods and conversions, for the control interface."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.payment_methods import all_conversions, all_methods
from flask_paycheckout.sandbox.checkouts.tables import Conversion, ConversionSwitch, MethodSwitch, PaymentMethod
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_boolean, read_text

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
