"""Paying suppliers what they have earned, so that a round may be repeated, doubled or cut off and nobody is paid twice.

A payout gets its reference and its amount, and takes its earnings, in one commit before anything is sent. Who sends it
says so first, in a commit that only one can make. When the answer is lost, the payout is looked up by its reference;
where the service cannot show it, a person decides. The service itself takes a reference only once.

How the money travels is a rail's business: see `bank_payouts` and `token_payouts`. The states are told in `ledger`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Protocol, runtime_checkable

from sqlalchemy import select, update

from example_shop.clock import now
from example_shop.database import changed, db
from example_shop.hooks import hooks
from example_shop.ledger import Earning, Payout
from example_shop.suppliers import BY_SLUG, SUPPLIERS, Supplier
from flask_paycheckout.client import Invalid, OutcomeUnknown, PaymentsError, ServiceFault

#: Less than this is not worth a transfer and waits for more; in the shop's currency.
LEAST = Decimal("5.00")
#: After so long without an answer nobody is still sending it.
PATIENCE = timedelta(minutes=2)


@dataclass(frozen=True)
class Bill:
    """What a rail needs to know of a payout; holds no database session."""

    reference: str
    supplier: Supplier
    amount: Decimal


class Rail(Protocol):
    """A way in which money travels. Methods that call the service raise its `PaymentsError`s."""

    def currency_for(self, supplier: Supplier) -> str | None:
        """What a supplier is paid in by this rail; None: this one travels by another."""

    def send(self, currency: str, bills: Sequence[Bill]) -> Mapping[str, str]:
        """Send them all, or none: their ids at the service, by reference."""


@runtime_checkable
class ReadableRail(Rail, Protocol):
    """A rail whose transfers the service shows again."""

    def find(self, references: Sequence[str]) -> Mapping[str, str]:
        """The ids of those that the service knows, by reference."""

    def status(self, disbursement_id: str) -> str:
        """`pending`, `completed` or `failed`."""

    def proof(self, disbursement_id: str) -> bytes:
        """The transfer proof of a completed one, a PDF."""


def pay_out() -> None:
    """One round: what got stuck, what is owed, what is on its way. Errors of the service are noted, not raised."""
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
    """Bind what is owed, if it is enough, to a new payout; however many do so now, each earning gets into one."""
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
    """The payouts in this state that travel by this rail."""
    found = db.session.scalars(select(Payout).where(Payout.state == state).order_by(Payout.made_at)).all()
    return [payout for payout in found if rail.currency_for(BY_SLUG[payout.supplier]) == payout.currency]


def claim(rail: Rail) -> dict[str, list[Bill]]:
    """The open payouts that are now ours alone to send, by currency; committed before anything is sent."""
    mine: dict[str, list[Bill]] = {}
    for payout in of(rail, "open"):
        if advance(payout.reference, "open", "sending", sent_at=now(), trouble=None):
            bill = Bill(payout.reference, BY_SLUG[payout.supplier], payout.amount)
            mine.setdefault(payout.currency, []).append(bill)
    db.session.commit()
    return mine


def send(rail: Rail, currency: str, bills: Sequence[Bill]) -> None:
    """Send what was claimed, and note what became of it."""
    references = [bill.reference for bill in bills]
    try:
        taken(rail, rail.send(currency, bills))
    except (OutcomeUnknown, ServiceFault) as lost:
        note_trouble(references, "sending", lost)
        look_up(rail, references)
    except Invalid as refused:
        if len(bills) > 1:  # one that is refused must not keep the others from their money
            for bill in bills:
                send(rail, currency, [bill])
            return
        # Perhaps because the reference is known: then it was carried out before.
        look_up(rail, references)
        reopen(references, refused)
    except PaymentsError as failed:
        reopen(references, failed)


def look_up(rail: Rail, references: Sequence[str]) -> bool:
    """Note those that the service has; False when it could not be asked."""
    if not isinstance(rail, ReadableRail):
        return False
    try:
        taken(rail, rail.find(references))
    except PaymentsError:
        return False
    return True


def recover(rail: Rail) -> None:
    """Those whose answer never came: found by their reference, or sent again with it, or a person's to decide."""
    late = [payout.reference for payout in of(rail, "sending") if payout.sent_at and payout.sent_at < now() - PATIENCE]
    db.session.rollback()
    if not late:
        return
    asked = look_up(rail, late)
    for reference in late:
        if asked:
            advance(reference, "sending", "open")  # to be sent again with its reference, which is taken only once
        elif not isinstance(rail, ReadableRail):
            advance(reference, "sending", "unknown")
    db.session.commit()


def decide(reference: str, was_sent: bool) -> bool:
    """A person has looked: it was sent, or it was not and is to be sent. False: it is not in doubt."""
    decided = advance(reference, "unknown", "sent" if was_sent else "open", trouble=None)
    db.session.commit()
    return decided


def follow(rail: Rail) -> None:
    """Read how those on their way stand."""
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
        if moved and status == "failed":  # owed again
            db.session.execute(update(Earning).where(Earning.payout == reference).values(payout=None))
        db.session.commit()


def taken(rail: Rail, made: Mapping[str, str]) -> None:
    """The service has these."""
    state = "pending" if isinstance(rail, ReadableRail) else "sent"
    for reference, disbursement_id in made.items():
        advance(reference, "sending", state, disbursement_id=disbursement_id, trouble=None)
    db.session.commit()


def reopen(references: Sequence[str], trouble: Exception) -> None:
    """These were certainly not carried out."""
    note_trouble(references, "sending", trouble)
    for reference in references:
        advance(reference, "sending", "open")
    db.session.commit()


def note_trouble(references: Sequence[str], state: str, trouble: Exception) -> None:
    for reference in references:
        advance(reference, state, state, trouble=str(trouble)[:300])
    db.session.commit()


def advance(reference: str, before: str, after: str, **values: object) -> bool:
    """Move a payout on, if it still stands where the caller thinks; not committed."""
    here = update(Payout).where(Payout.reference == reference, Payout.state == before)
    return changed(here.values(state=after, **values)) == 1
