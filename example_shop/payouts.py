"""Payouts to suppliers, such that a round can be repeated, interrupted or run twice at once and nobody is paid twice.

One commit, before anything is sent, gives a payout its reference and its amount, and assigns its earnings to it. Before
sending, a process claims the payout in another commit, which only one process can make. When the answer is lost, the
payout is looked up by its reference; when the service cannot show it, a person decides. The service accepts each
reference only once.

A rail sends the money: see `bank_payouts` and `token_payouts`. `ledger` lists the states.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

from sqlalchemy import select, update

from example_shop.clock import now
from example_shop.database import changed, db
from example_shop.hooks import hooks
from example_shop.ledger import Earning, Payout
from example_shop.rails import Bill, Rail, ReadableRail
from example_shop.suppliers import BY_SLUG, SUPPLIERS, Supplier
from flask_paycheckout.client import Invalid, OutcomeUnknown, PaymentsError, ServiceFault

LEAST = Decimal("5.00")
"""The least amount of a transfer, in the shop's currency; smaller earnings wait for more."""

PATIENCE = timedelta(minutes=2)
"""The time after which a payout without an answer is no longer being sent by any process."""


def pay_out() -> None:
    """Run one round: recover lost answers, send what is owed, follow transfers. Records errors instead of raising."""
    for rail in hooks().rails:
        recover(rail)
        gather(rail)
        for currency, bills in claim(rail).items():
            send(rail, currency, bills)
        follow(rail)


def gather(rail: Rail) -> None:
    """Record a payout for each supplier of this rail who is owed enough."""
    for supplier in SUPPLIERS:
        if currency := rail.currency_for(supplier):
            bind(supplier, currency)


def bind(supplier: Supplier, currency: str) -> None:
    """Assign a supplier's unpaid earnings, if they are enough, to a new payout; each earning gets into one only."""
    payout = Payout(
        reference=f"{supplier.slug}-{secrets.token_hex(6)}",
        supplier=supplier.slug,
        amount=Decimal(0),
        currency=currency,
        made_at=now(),
    )
    db.session.add(payout)
    db.session.flush()
    unpaid = update(Earning).where(Earning.supplier == supplier.slug, Earning.payout.is_(None))
    bound = db.session.scalars(unpaid.values(payout=payout.reference).returning(Earning.amount)).all()
    payout.amount = sum(bound, Decimal(0))
    if payout.amount < LEAST:
        db.session.rollback()
    else:
        db.session.commit()


def of(rail: Rail, state: str) -> list[Payout]:
    """The payouts of this rail in this state."""
    found = db.session.scalars(select(Payout).where(Payout.state == state).order_by(Payout.made_at)).all()
    return [payout for payout in found if rail.currency_for(BY_SLUG[payout.supplier]) == payout.currency]


def claim(rail: Rail) -> dict[str, list[Bill]]:
    """Claim the open payouts for this process, and return them by currency; committed before anything is sent."""
    mine: dict[str, list[Bill]] = {}
    for payout in of(rail, "open"):
        if advance(payout.reference, "open", "sending", sent_at=now(), trouble=None):
            bill = Bill(payout.reference, BY_SLUG[payout.supplier], payout.amount)
            mine.setdefault(payout.currency, []).append(bill)
    db.session.commit()
    return mine


def send(rail: Rail, currency: str, bills: Sequence[Bill]) -> None:
    """Send the claimed payouts, and record the result."""
    references = [bill.reference for bill in bills]
    try:
        taken(rail, rail.send(currency, bills))
    except (OutcomeUnknown, ServiceFault) as lost:
        note_trouble(references, "sending", lost)
        look_up(rail, references)
    except Invalid as refused:
        if len(bills) > 1:  # send each alone, so that a refused one does not stop the others
            for bill in bills:
                send(rail, currency, [bill])
            return
        # The reference may be known already, because the payout was carried out before.
        look_up(rail, references)
        reopen(references, refused)
    except PaymentsError as failed:
        reopen(references, failed)


def look_up(rail: Rail, references: Sequence[str]) -> bool:
    """Record the payouts that the service has; False when it could not be asked."""
    if not isinstance(rail, ReadableRail):
        return False
    try:
        taken(rail, rail.find(references))
    except PaymentsError:
        return False
    return True


def recover(rail: Rail) -> None:
    """Handle payouts whose answer was lost: find them by reference, open them again, or mark them as unknown."""
    late = [payout.reference for payout in of(rail, "sending") if payout.sent_at and payout.sent_at < now() - PATIENCE]
    db.session.rollback()
    if not late:
        return
    asked = look_up(rail, late)
    for reference in late:
        if asked:
            advance(reference, "sending", "open")  # sent again under its reference, which is accepted only once
        elif not isinstance(rail, ReadableRail):
            advance(reference, "sending", "unknown")
    db.session.commit()


def decide(reference: str, was_sent: bool) -> bool:
    """Record a person's finding whether an unknown payout was sent; False when the payout is not unknown."""
    decided = advance(reference, "unknown", "sent" if was_sent else "open", trouble=None)
    db.session.commit()
    return decided


def follow(rail: Rail) -> None:
    """Read the statuses of pending payouts."""
    if not isinstance(rail, ReadableRail):
        return
    waiting = [(payout.reference, payout.disbursement_id or "") for payout in of(rail, "pending")]
    db.session.rollback()
    for reference, disbursement_id in waiting:
        try:
            status = rail.status(disbursement_id)
        except PaymentsError as failed:
            note_trouble([reference], "pending", failed)
            continue
        moved = status in ("completed", "failed") and advance(reference, "pending", status, trouble=None)
        if moved and status == "failed":  # the amount is owed again
            db.session.execute(update(Earning).where(Earning.payout == reference).values(payout=None))
        db.session.commit()


def taken(rail: Rail, made: Mapping[str, str]) -> None:
    """Record that the service has accepted these."""
    state = "pending" if isinstance(rail, ReadableRail) else "sent"
    for reference, disbursement_id in made.items():
        advance(reference, "sending", state, disbursement_id=disbursement_id, trouble=None)
    db.session.commit()


def reopen(references: Sequence[str], trouble: Exception) -> None:
    """Open payouts again that were certainly not carried out."""
    note_trouble(references, "sending", trouble)
    for reference in references:
        advance(reference, "sending", "open")
    db.session.commit()


def note_trouble(references: Sequence[str], state: str, trouble: Exception) -> None:
    for reference in references:
        advance(reference, state, state, trouble=str(trouble)[:300])
    db.session.commit()


def advance(reference: str, before: str, after: str, **values: object) -> bool:
    """Change a payout's state if it still is `before`, without committing; whether it was."""
    here = update(Payout).where(Payout.reference == reference, Payout.state == before)
    return changed(here.values(state=after, **values)) == 1
