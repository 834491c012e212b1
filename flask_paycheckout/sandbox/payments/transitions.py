"""Transitions of payments: each is one conditional UPDATE, with its history entries in the same transaction.

The interface shows the transition from pending to processed, when the crypto asset was received, and neither later ones
nor durations. The unknown `payment_progress` says which status a payment finally gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.payments.tables import COMPLETED, FAILED, PENDING, PROCESSED, Payment, PaymentActivity
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.ids import derived, new_id
from flask_paycheckout.sandbox.world.transitions import move_due

_HASH_BYTES = 32


@dataclass(frozen=True)
class Transition:
    """A transition between two statuses at an age of the payment."""

    source: str
    target: str
    age: timedelta


_PROCESS = Transition(PENDING, PROCESSED, timedelta(minutes=5))
_COMPLETE = Transition(PROCESSED, COMPLETED, timedelta(minutes=10))
_FAIL = Transition(PROCESSED, FAILED, timedelta(minutes=10))

TRANSITIONS = {
    "completed": (_PROCESS, _COMPLETE),
    "failed": (_PROCESS, _FAIL),
    "processed": (_PROCESS,),
    "pending": (),
}
"""Transitions of each value of `payment_progress`, in their order."""


def begin_history(session: Session, payment: Payment) -> None:
    network = "" if payment.us_network is None else f", by {payment.us_network}"
    text = f"{payment.input_amount:f} {payment.input_currency} for {payment.output_currency}{network}."
    _note(session, payment, "Signed by Payee", text, PENDING)


def progress_due(session: Session) -> int:
    """Make the transitions of payments that are due.

    :return: the largest number that made the same transition, a batch at most.
    """
    return max((_make(session, transition) for transition in TRANSITIONS[assumption("payment_progress")]), default=0)


def _make(session: Session, transition: Transition) -> int:
    moved = move_due(session, Payment, transition.source, transition.target, transition.age)
    for payment in moved:
        _NOTES[transition.target](session, payment)
    session.flush()
    return len(moved)


def _note_processed(session: Session, payment: Payment) -> None:
    payment.transaction_hash = f"0x{derived(f'transaction:{payment.id}', _HASH_BYTES)}"
    text = f"{payment.output_amount:f} {payment.output_currency}."
    _note(session, payment, "Converted to", text, COMPLETED)
    _note(session, payment, "Sent to receipient account", "The transfer to the bank is on its way.", PENDING)


def _note_completed(session: Session, payment: Payment) -> None:
    _note(session, payment, "Received by recipient account", "The money has arrived.", COMPLETED)


def _note_failed(session: Session, payment: Payment) -> None:
    _note(session, payment, "Sent to receipient account", "The bank refused the transfer.", FAILED)


_NOTES = {PROCESSED: _note_processed, COMPLETED: _note_completed, FAILED: _note_failed}


def _note(session: Session, payment: Payment, activity: str, description: str, status: str) -> None:
    session.add(
        PaymentActivity(
            id=new_id(session),
            payment_id=payment.id,
            activity=activity,
            description=description,
            status=status,
            updated_at=payment.updated_at,
        )
    )
