"""The suppliers' earnings and payouts. A payout moves through these states:

| State | Means |
|---|---|
| `open` | recorded and not sent, or refused (`trouble` says why); the next round sends it |
| `sending` | being sent, or its answer was lost and it was not found yet |
| `unknown` | its answer was lost and the service cannot show it: a person must check, and `decide` |
| `pending` | accepted by the service |
| `sent` | accepted by the service, which shows no later state |
| `completed`, `failed` | final; a failed amount is owed again, under another reference |
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import ForeignKey, String, UniqueConstraint, select
from sqlalchemy.orm import Mapped, mapped_column

from example_shop.database import Model, Moment, Money, db
from example_shop.suppliers import SUPPLIERS


class Payout(Model):
    """One transfer to a supplier."""

    __tablename__ = "payouts"

    reference: Mapped[str] = mapped_column(String(60), primary_key=True)
    supplier: Mapped[str] = mapped_column(String(40), index=True)
    amount: Mapped[Decimal] = mapped_column(Money)
    currency: Mapped[str] = mapped_column(String(40))
    state: Mapped[str] = mapped_column(String(10), default="open", index=True)
    disbursement_id: Mapped[str | None] = mapped_column(String(100))
    trouble: Mapped[str | None] = mapped_column(String(300))
    made_at: Mapped[datetime] = mapped_column(Moment)
    sent_at: Mapped[datetime | None] = mapped_column(Moment)


class Earning(Model):
    """One supplier's share of one order; owed until it is part of a payout."""

    __tablename__ = "earnings"
    __table_args__ = (UniqueConstraint("order_id", "supplier"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    supplier: Mapped[str] = mapped_column(String(40), index=True)
    amount: Mapped[Decimal] = mapped_column(Money)
    earned_at: Mapped[datetime] = mapped_column(Moment)
    payout: Mapped[str | None] = mapped_column(ForeignKey("payouts.reference"), index=True)


def owed() -> dict[str, Decimal]:
    """The sum of each supplier's earnings that are in no payout yet."""
    sums = dict.fromkeys((supplier.slug for supplier in SUPPLIERS), Decimal(0))
    for slug, amount in db.session.execute(select(Earning.supplier, Earning.amount).where(Earning.payout.is_(None))):
        sums[slug] += amount
    return sums
