"""Checkouts: their table, the endpoint `POST /v1/checkout`, and the methods that can pay one."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from flask import Blueprint, g
from msgspec.structs import asdict, replace
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.checkouts.methods import (
    PaymentMethod,
    Quote,
    enabled_methods,
    find_rate,
    quote_paying,
    quote_receiving,
)
from flask_paycheckout.sandbox.outgoing.faults import take_webhook_fault
from flask_paycheckout.sandbox.wire.envelope import Record, Refusal, Url, unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import Amount, Code, Request, in_units
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import current_time, world
from flask_paycheckout.sandbox.world.database import AccountId, Table
from flask_paycheckout.sandbox.world.settings import new_id

PAGE_VALIDITY = timedelta(minutes=15)
"""How long after a checkout's creation its hosted page can be used."""


class Checkout(Table):
    __tablename__ = "checkout"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[AccountId]
    input_currency: Mapped[str]
    output_currency: Mapped[str]
    input_amount: Mapped[Decimal | None]
    output_amount: Mapped[Decimal | None]
    """Exactly one of the two amounts was requested; the other is None."""
    rate: Mapped[Decimal]
    """The conversion rate at creation; later changes do not affect what the customer was shown."""
    created_at: Mapped[datetime] = mapped_column(index=True)
    expires_at: Mapped[datetime]
    picked_at: Mapped[datetime | None]

    @property
    def page_is_open(self) -> bool:
        return current_time() < self.expires_at


class NewCheckout(Request):
    """The body of `POST /v1/checkout`, with exactly one of the amounts."""

    input_currency: Code
    input_amount: Amount | None = None
    output_amount: Amount | None = None
    output_currency: Code | None = None


class CheckoutLink(Record):
    """Id of a new checkout, and address of its hosted page, to be used unchanged."""

    id: str
    url: Url


checkouts = Blueprint("checkouts", __name__)


@checkouts.post("/v1/checkout")
@operation(code="checkout_status_code", message="Checkout created successfully")
def create_checkout(session: Session, account: Account, sent: NewCheckout) -> CheckoutLink:
    """Make a hosted page for one payment."""
    if not account.checkout_enabled:
        raise Refusal(400, "Checkout is not enabled")
    checkout_id = store_checkout(session, account.user_id, sent)
    if take_webhook_fault(session, account.user_id, "before_response") is not None:
        # `hooks` lets the customer pay before the response is sent.
        g.paid_before_response = checkout_id
    return CheckoutLink(checkout_id, page_url(checkout_id))


def store_checkout(session: Session, user_id: str, sent: NewCheckout) -> str:
    """Store a checkout, and return its id. :raises Refusal: it is invalid, or no enabled method can take its amount."""
    exact = _exact(sent)
    rate = find_rate(session, user_id, exact.input_currency, str(exact.output_currency))
    if rate is None:
        raise unspecified_refusal("conversion_refused", "Conversion is not enabled for this pair of currencies.")
    now = current_time()
    checkout = Checkout(
        id=new_id(session),
        user_id=user_id,
        rate=rate,
        **asdict(exact),
        created_at=now,
        expires_at=now + PAGE_VALIDITY,
    )
    if not offers(session, checkout):
        raise unspecified_refusal(400, "The amount is outside the limits of every enabled payment method.")
    session.add(checkout)
    session.flush()
    return checkout.id


def _exact(sent: NewCheckout) -> NewCheckout:
    """A request with both currencies, and its one amount with the currency's decimals."""
    if (sent.input_amount is None) == (sent.output_amount is None):
        raise unspecified_refusal(400, "Send exactly one of inputAmount and outputAmount.")
    output_currency = sent.output_currency or sent.input_currency
    return replace(
        sent,
        output_currency=output_currency,
        input_amount=sent.input_amount and in_units("inputAmount", sent.input_amount, sent.input_currency),
        output_amount=sent.output_amount and in_units("outputAmount", sent.output_amount, output_currency),
    )


def offers(session: Session, checkout: Checkout) -> list[tuple[PaymentMethod, Quote]]:
    """The methods whose limits allow the checkout's amount and that leave something to receive, each with its quote."""
    methods = enabled_methods(session, checkout.user_id, checkout.input_currency)
    quotes = ((method, _quote_of(checkout, method)) for method in methods)
    return [
        (method, quote)
        for method, quote in quotes
        if method.min_amount <= quote.input_amount <= method.max_amount and quote.output_amount > 0
    ]


def _quote_of(checkout: Checkout, method: PaymentMethod) -> Quote:
    terms = method, checkout.output_currency, checkout.rate
    if checkout.input_amount is not None:
        return quote_paying(*terms, checkout.input_amount)
    return quote_receiving(*terms, checkout.output_amount or Decimal(0))


def page_url(checkout_id: str) -> str:
    return f"{world().base_url}/checkout/{checkout_id}"
