"""Transitions of payments: each is one conditional UPDATE, with its history entries in the same transaction.

The interface shows the transition from pending to processed, when the crypto asset was received, and neither later ones
nor durations. The unknown `payment_progress` says which status a payment finally gets.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.payments.tables import COMPLETED, FAILED, PENDING, PROCESSED, Payment
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.ids import derived
from flask_paycheckout.sandbox.world.transitions import move_due, note

_HASH_BYTES = 32


_PROCESS = (PENDING, PROCESSED, timedelta(minutes=5))
_LATER = timedelta(minutes=10)

TRANSITIONS = {
    "completed": (_PROCESS, (PROCESSED, COMPLETED, _LATER)),
    "failed": (_PROCESS, (PROCESSED, FAILED, _LATER)),
    "processed": (_PROCESS,),
    "pending": (),
}
"""The transitions of each value of `payment_progress`, in their order: two statuses, and the age of the payment."""


def progress_due(session: Session) -> int:
    """Make the transitions of payments that are due.

    :return: the largest number that made the same transition, a batch at most.
    """
    return max((_make(session, *transition) for transition in TRANSITIONS[assumption("payment_progress")]), default=0)


def _make(session: Session, source: str, target: str, age: timedelta) -> int:
    moved = move_due(session, Payment, source, target, age)
    for payment in moved:
        _NOTES[target](session, payment)
    session.flush()
    return len(moved)


def _note_processed(session: Session, payment: Payment) -> None:
    payment.transaction_hash = f"0x{derived(f'transaction:{payment.id}', _HASH_BYTES)}"
    note(session, payment, "Converted to", f"{payment.output_amount:f} {payment.output_currency}.", COMPLETED)
    note(session, payment, "Sent to receipient account", "The transfer to the bank is on its way.", PENDING)


def _note_completed(session: Session, payment: Payment) -> None:
    note(session, payment, "Received by recipient account", "The money has arrived.")


def _note_failed(session: Session, payment: Payment) -> None:
    note(session, payment, "Sent to receipient account", "The bank refused the transfer.")


_NOTES = {PROCESSED: _note_processed, COMPLETED: _note_completed, FAILED: _note_failed}
