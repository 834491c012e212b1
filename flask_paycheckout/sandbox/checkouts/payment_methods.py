"""Payment methods of deposits: look-ups, fees and limits, and rates of conversion."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.checkouts.quotes import Quote, Terms, quote_paying, quote_receiving
from flask_paycheckout.sandbox.checkouts.tables import Conversion, PaymentMethod
from flask_paycheckout.sandbox.world.database import select_untracked

_ENABLED = (
    select(PaymentMethod.__table__)
    .where(PaymentMethod.currency == bindparam("currency"), PaymentMethod.enabled)
    .order_by(PaymentMethod.position)
)


def all_methods(session: Session) -> list[PaymentMethod]:
    """All methods, enabled or not, in the order of the hosted page."""
    return list(session.scalars(select(PaymentMethod).order_by(PaymentMethod.position)))


def enabled_methods(session: Session, currency: str) -> list[PaymentMethod]:
    """The enabled methods for a currency, in the order of the hosted page."""
    return select_untracked(session, PaymentMethod, _ENABLED, currency=currency)


def find_rate(session: Session, input_currency: str, output_currency: str) -> Decimal | None:
    """Units received per unit paid; None when the pair is not enabled for conversion."""
    if input_currency == output_currency:
        return Decimal(1)
    return session.execute(
        select(Conversion.rate).where(
            Conversion.input_currency == input_currency,
            Conversion.output_currency == output_currency,
            Conversion.enabled,
        )
    ).scalar_one_or_none()


def terms_of(method: PaymentMethod, output_currency: str, rate: Decimal) -> Terms:
    return Terms(method.currency, output_currency, method.flat_fee, method.percent_fee, rate)


def quote(
    method: PaymentMethod,
    output_currency: str,
    rate: Decimal,
    input_amount: Decimal | None,
    output_amount: Decimal | None,
) -> Quote:
    """Quote a payment by this method. Exactly one of the two amounts is given."""
    terms = terms_of(method, output_currency, rate)
    if input_amount is not None:
        return quote_paying(terms, input_amount)
    if output_amount is None:
        raise TypeError("either input_amount or output_amount is needed")
    return quote_receiving(terms, output_amount)


def is_within_limits(method: PaymentMethod, made: Quote) -> bool:
    """Whether the amount paid is within the method's limits, and something is received."""
    return method.min_amount <= made.input_amount <= method.max_amount and made.output_amount > 0


def usable(offers: Iterable[tuple[PaymentMethod, Quote]]) -> list[tuple[PaymentMethod, Quote]]:
    return [(method, made) for method, made in offers if is_within_limits(method, made)]
