"""Switches of the account, payment methods and conversions, for the control interface."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.tables import Conversion, PaymentMethod
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_boolean, read_text
from flask_paycheckout.sandbox.world.database import Table, rows_changed

_MAX_ITEMS = 200


def read_switches(session: Session) -> dict[str, Any]:
    """All switches, with fees, limits and rates."""
    methods = session.execute(select(PaymentMethod).order_by(PaymentMethod.position)).scalars()
    conversions = session.execute(
        select(Conversion).order_by(Conversion.input_currency, Conversion.output_currency)
    ).scalars()
    return {
        "checkoutEnabled": session.execute(select(Account.checkout_enabled)).scalars().first(),
        "paymentMethods": [_method(method) for method in methods],
        "conversions": [_conversion(conversion) for conversion in conversions],
    }


def set_switches(session: Session, body: dict[str, Any]) -> None:
    """Set the switches that the body names, all of them or none."""
    enabled = optional_boolean(body, "checkoutEnabled")
    if enabled is not None:
        rows_changed(session, update(Account).values(checkout_enabled=enabled))
    for item in _items(body, "paymentMethods"):
        code = read_text(item, "code")
        _switch(session, PaymentMethod, item, f"code {code}", PaymentMethod.code == code)
    for item in _items(body, "conversions"):
        pair = read_text(item, "inputCurrency"), read_text(item, "outputCurrency")
        same = Conversion.input_currency == pair[0], Conversion.output_currency == pair[1]
        _switch(session, Conversion, item, f"conversions {pair[0]}-{pair[1]}", *same)


def _switch(
    session: Session, table: type[Table], item: dict[str, Any], name: str, *conditions: ColumnElement[bool]
) -> None:
    enabled = optional_boolean(item, "enabled")
    if enabled is None:
        raise FieldError("enabled is required.")
    if not rows_changed(session, update(table).where(*conditions).values(enabled=enabled)):
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
