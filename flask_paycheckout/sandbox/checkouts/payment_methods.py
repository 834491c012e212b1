"""Payment methods of deposits and rates of conversion, as they are enabled for an account; fees and limits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal
from typing import NamedTuple

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.checkouts.tables import Conversion, ConversionSwitch, MethodSwitch, PaymentMethod
from flask_paycheckout.sandbox.money.currencies import EXACT, rounded


class Terms(NamedTuple):
    """Fees and rate of a payment method between two currencies."""

    input_currency: str
    output_currency: str
    flat_fee: Decimal
    percent_fee: Decimal
    rate: Decimal = Decimal(1)


class Quote(NamedTuple):
    """An amount paid, the fee included in it (both in the input currency), and the amount received."""

    input_amount: Decimal
    fee_amount: Decimal
    output_amount: Decimal


def quote_paying(terms: Terms, amount: Decimal) -> Quote:
    """Quote for a customer who pays exactly `amount`. The fee is at most the amount; then nothing is received."""
    fee = min(_fee_of(terms, amount), rounded(amount, terms.input_currency))
    received = EXACT.multiply(EXACT.subtract(amount, fee), terms.rate)
    return Quote(
        rounded(amount, terms.input_currency), fee, rounded(received, terms.output_currency, rounding=ROUND_DOWN)
    )


def quote_receiving(terms: Terms, amount: Decimal) -> Quote:
    """Quote for receiving exactly `amount`."""
    net = rounded(EXACT.divide(amount, terms.rate), terms.input_currency)
    share_left = EXACT.subtract(Decimal(1), _percentage(terms))
    paid = rounded(EXACT.divide(EXACT.add(net, terms.flat_fee), share_left), terms.input_currency)
    return Quote(paid, EXACT.subtract(paid, net), rounded(amount, terms.output_currency))


def _fee_of(terms: Terms, amount: Decimal) -> Decimal:
    exact = EXACT.add(terms.flat_fee, EXACT.multiply(amount, _percentage(terms)))
    return rounded(exact, terms.input_currency)


def _percentage(terms: Terms) -> Decimal:
    return terms.percent_fee.scaleb(-2, EXACT)


_USER: BindParameter[str] = bindparam("user_id")
_METHOD_ENABLED: ColumnElement[bool] = func.coalesce(MethodSwitch.enabled, PaymentMethod.enabled)
_METHODS = (
    select(*(column for column in PaymentMethod.__table__.columns if column.name != "enabled"))
    .add_columns(_METHOD_ENABLED.label("enabled"))
    .outerjoin(MethodSwitch, and_(MethodSwitch.code == PaymentMethod.code, MethodSwitch.user_id == _USER))
    .order_by(PaymentMethod.position)
)
_CONVERSION_ENABLED: ColumnElement[bool] = func.coalesce(ConversionSwitch.enabled, Conversion.enabled)
_CONVERSIONS = (
    select(*(column for column in Conversion.__table__.columns if column.name != "enabled"))
    .add_columns(_CONVERSION_ENABLED.label("enabled"))
    .outerjoin(
        ConversionSwitch,
        and_(
            ConversionSwitch.input_currency == Conversion.input_currency,
            ConversionSwitch.output_currency == Conversion.output_currency,
            ConversionSwitch.user_id == _USER,
        ),
    )
    .order_by(Conversion.input_currency, Conversion.output_currency)
)


def all_methods(session: Session, user_id: str) -> list[PaymentMethod]:
    """All methods, each enabled for the account or not, in the order of the hosted page. Do not change the objects."""
    return _methods(session, user_id)


def enabled_methods(session: Session, user_id: str, currency: str) -> list[PaymentMethod]:
    """The methods for a currency that are enabled for the account, in the order of the hosted page."""
    return _methods(session, user_id, PaymentMethod.currency == currency, _METHOD_ENABLED)


def _methods(session: Session, user_id: str, *conditions: ColumnElement[bool]) -> list[PaymentMethod]:
    """Methods as objects of no session, since `enabled` is what it is for the account."""
    rows = session.execute(_METHODS.where(*conditions), {"user_id": user_id})
    return [PaymentMethod(**row) for row in rows.mappings()]


def all_conversions(session: Session, user_id: str) -> list[Conversion]:
    """All conversions, each enabled for the account or not. Do not change the objects."""
    return _conversions(session, user_id)


def find_rate(session: Session, user_id: str, input_currency: str, output_currency: str) -> Decimal | None:
    """Units received per unit paid; None when the pair is not enabled for the account."""
    if input_currency == output_currency:
        return Decimal(1)
    pair = Conversion.input_currency == input_currency, Conversion.output_currency == output_currency
    found = _conversions(session, user_id, *pair, _CONVERSION_ENABLED)
    return found[0].rate if found else None


def _conversions(session: Session, user_id: str, *conditions: ColumnElement[bool]) -> list[Conversion]:
    rows = session.execute(_CONVERSIONS.where(*conditions), {"user_id": user_id})
    return [Conversion(**row) for row in rows.mappings()]


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
