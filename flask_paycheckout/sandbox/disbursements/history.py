"""The history of disbursements: writing and reading its entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.tables import (
    COMPLETED,
    CRYPTO,
    FAILED,
    FIAT,
    PENDING,
    Disbursement,
    DisbursementActivity,
)

# Entries at creation, and the activity of every later transition, by kind.
_FIRST = {
    FIAT: (
        ("Disburse requested", "The disbursement was accepted."),
        ("Recipient validated", "The recipient's bank account can be paid."),
    ),
    CRYPTO: (("Sent to recipient wallet", "The transfer was handed to the network."),),
}
_LATER = {FIAT: "Sent to recipient account", CRYPTO: "Received by recipient"}
_DESCRIPTIONS = {COMPLETED: "The money has arrived.", FAILED: "The transfer failed."}

History = dict[str, list[DisbursementActivity]]


def begin_history(made: Iterable[Disbursement]) -> list[DisbursementActivity]:
    """The first entries of new disbursements."""
    return [
        _entry(disbursement.id, activity, description, PENDING, disbursement.created_at)
        for disbursement in made
        for activity, description in _FIRST[disbursement.kind]
    ]


def record_transition(session: Session, disbursement_id: str, kind: str, status: str, now: datetime) -> None:
    description = _DESCRIPTIONS.get(status, f"The status became {status}.")
    session.add(_entry(disbursement_id, _LATER[kind], description, status, now))


def _entry(disbursement_id: str, activity: str, description: str, status: str, now: datetime) -> DisbursementActivity:
    return DisbursementActivity(
        disbursement_id=disbursement_id, activity=activity, description=description, status=status, updated_at=now
    )


def histories_of(session: Session, disbursements: Iterable[Disbursement]) -> History:
    """The entries of several disbursements, by id, oldest first; one query."""
    found: History = defaultdict(list)
    rows = session.scalars(
        select(DisbursementActivity)
        .where(DisbursementActivity.disbursement_id.in_([disbursement.id for disbursement in disbursements]))
        .order_by(DisbursementActivity.number)
    )
    for entry in rows:
        found[entry.disbursement_id].append(entry)
    return found
