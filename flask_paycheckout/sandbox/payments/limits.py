"""The daily limit that quotes look at: what an account's payments of one UTC day are worth, in US cents."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.money.tokens import Token
from flask_paycheckout.sandbox.payments.rates import worth_in_dollars
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.world.context import assumption, world

# Ten billion dollars: beyond every limit, and many of them still add up to a number that every database takes.
_MAX_CENTS = 10**12


def cents_of(token: Token, amount: Decimal) -> int:
    """The worth of an amount, rounded up; everything above ten billion dollars counts as that."""
    dollars = worth_in_dollars(token, amount)
    if dollars >= _MAX_CENTS // 100:
        return _MAX_CENTS
    return int((dollars * 100).to_integral_value(rounding=ROUND_CEILING))


def is_within_daily_limit(session: Session, user_id: str, token: Token, amount: Decimal) -> bool:
    """Whether a payment of that amount would still fit into today."""
    limit = assumption("daily_limit")
    if limit == "off":
        return True
    return _cents_of_today(session, user_id) + cents_of(token, amount) <= int(limit) * 100


def _cents_of_today(session: Session, user_id: str) -> int:
    spent = session.scalar(
        select(func.sum(Payment.cents)).where(
            Payment.user_id == user_id, Payment.created_at >= _midnight(world().clock.now())
        )
    )
    return int(spent or 0)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
