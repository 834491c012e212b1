"""Rules of a new checkout, and the methods that can pay it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.checkouts.payment_methods import (
    Quote,
    enabled_methods,
    find_rate,
    is_within_limits,
    quote,
    usable,
)
from flask_paycheckout.sandbox.checkouts.tables import PAGE_VALIDITY, Checkout, PaymentMethod
from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import Amount, Text, decimals_in, in_units
from flask_paycheckout.sandbox.wire.schemas import Record
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.ids import new_id


class CheckoutLink(Record, frozen=True):
    """Id of a new checkout, and address of its hosted page, to be used unchanged."""

    id: str
    url: str


@dataclass(frozen=True)
class NewCheckout:
    """The body of `POST /v1/checkout`, with exactly one of the amounts."""

    input_currency: Annotated[str, Text()]
    input_amount: Annotated[Decimal | None, Amount()] = None
    output_amount: Annotated[Decimal | None, Amount()] = None
    output_currency: Annotated[str | None, Text()] = None


class RequestedAmounts(NamedTuple):
    """The currencies of a checkout, and one amount, with its currency's decimals."""

    input_currency: str
    output_currency: str
    input_amount: Decimal | None
    output_amount: Decimal | None


def requested_amounts(sent: NewCheckout) -> RequestedAmounts:
    """Check a request's fields against each other and against their currencies."""
    if (sent.input_amount is None) == (sent.output_amount is None):
        raise unspecified_refusal(400, "Send exactly one of inputAmount and outputAmount.")
    output_currency = sent.output_currency or sent.input_currency
    return RequestedAmounts(
        sent.input_currency,
        output_currency,
        _in_currency("input", sent.input_currency, sent.input_amount),
        _in_currency("output", output_currency, sent.output_amount),
    )


def _in_currency(side: str, currency: str, amount: Decimal | None) -> Decimal | None:
    decimals_in(f"{side}Currency", currency)
    return None if amount is None else in_units(f"{side}Amount", amount, currency)


def store_checkout(session: Session, user_id: str, asked: RequestedAmounts, checkout_id: str | None = None) -> str:
    """Store a checkout, unless no enabled method can take its amount; return its id.

    :param checkout_id: a free id; a new one when None.
    """
    rate = find_rate(session, user_id, asked.input_currency, asked.output_currency)
    if rate is None:
        raise unspecified_refusal(
            int(assumption("conversion_refused")), "Conversion is not enabled for this pair of currencies."
        )
    checkout_id = checkout_id or new_id(session)
    amounts = asked.input_amount, asked.output_amount
    methods = enabled_methods(session, user_id, asked.input_currency)
    if not any(is_within_limits(method, quote(method, asked.output_currency, rate, *amounts)) for method in methods):
        raise unspecified_refusal(400, "The amount is outside the limits of every enabled payment method.")
    now = world().clock.now()
    session.add(
        Checkout(
            id=checkout_id,
            user_id=user_id,
            input_currency=asked.input_currency,
            output_currency=asked.output_currency,
            input_amount=asked.input_amount,
            output_amount=asked.output_amount,
            rate=rate,
            created_at=now,
            expires_at=now + PAGE_VALIDITY,
            picked_at=None,
        )
    )
    session.flush()
    return checkout_id


def offers(session: Session, checkout: Checkout) -> list[tuple[PaymentMethod, Quote]]:
    """The methods that can pay a checkout, each with its quote."""
    methods = enabled_methods(session, checkout.user_id, checkout.input_currency)
    return usable((method, quote_of(checkout, method)) for method in methods)


def quote_of(checkout: Checkout, method: PaymentMethod) -> Quote:
    return quote(method, checkout.output_currency, checkout.rate, checkout.input_amount, checkout.output_amount)


def find_checkout(session: Session, checkout_id: str) -> Checkout | None:
    return session.execute(select(Checkout).where(Checkout.id == checkout_id)).scalar_one_or_none()


def page_url(checkout_id: str) -> str:
    return f"{world().base_url}/checkout/{checkout_id}"
