"""The daily limit of quotes: the value of an account's payments in one UTC day, in US cents."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.money.tokens import Token
from flask_paycheckout.sandbox.payments.rates import worth_in_dollars
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.world.context import assumption, world

# Ten billion dollars: above every limit, and sums of many still fit into an integer of every database.
_MAX_CENTS = 10**12


def cents_of(dollars: Decimal) -> int:
    """A value in US cents, rounded up, at most ten billion dollars."""
    if dollars >= _MAX_CENTS // 100:
        return _MAX_CENTS
    return int((dollars * 100).to_integral_value(rounding=ROUND_CEILING))


def is_within_daily_limit(session: Session, user_id: str, token: Token, amount: Decimal) -> bool:
    """Whether a payment of that amount would stay within today's limit."""
    limit = assumption("daily_limit")
    if limit == "off":
        return True
    return _cents_of_today(session, user_id) + cents_of(worth_in_dollars(token, amount)) <= int(limit) * 100


def _cents_of_today(session: Session, user_id: str) -> int:
    spent = session.scalar(
        select(func.sum(Payment.cents)).where(
            Payment.user_id == user_id, Payment.created_at >= _midnight(world().clock.now())
        )
    )
    return int(spent or 0)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
