"""Calls that let a customer or a bank act, and those about disbursements."""

from __future__ import annotations

from typing import Annotated

from flask import Response
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.control import triggers
from flask_paycheckout.sandbox.control.calls import call
from flask_paycheckout.sandbox.control.message_calls import OfAccount
from flask_paycheckout.sandbox.control.state_calls import Time, read_time
from flask_paycheckout.sandbox.control.triggers import DisbursementRecord
from flask_paycheckout.sandbox.deposits import transitions
from flask_paycheckout.sandbox.deposits.tables import Deposit, DepositRecord, represent
from flask_paycheckout.sandbox.disbursements.fiat import find_fiat
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.transfer_proofs import proof_of
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import Record
from flask_paycheckout.sandbox.wire.field_types import Amount, Request, Text, choice
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.transitions import COMPLETED, FAILED, NotPossible


class Pick(Request):
    """The method that the customer picks: by default the first usable method."""

    payment_method: Text | None = None
    reference: Text | None = None


class Pay(Request):
    """The amount that the customer pays: by default the exact amount."""

    amount: Amount | None = None


class Finish(Request):
    """The end of a disbursement."""

    status: Annotated[str, choice(COMPLETED, FAILED)]


class Picked(Record):
    """A deposit with its payment method."""

    payment_method: str
    deposit: DepositRecord


_SHOWN = "deposit.depositId deposit.status deposit.inputAmount deposit.inputCurrency paymentMethod"


def _picked(checkout_id: str) -> Picked:
    with transaction() as session:
        deposit = session.get_one(Deposit, checkout_id)
        return Picked(deposit.method, represent(session, deposit))


@call(
    "POST /checkouts/<checkout_id>/pick",
    "the customer chooses a payment method",
    command="pick <checkout_id>",
    shown=_SHOWN,
    may_be_empty=True,
)
def pick(checkout_id: str, sent: Pick) -> Picked:
    with transaction() as session:
        transitions.pick(session, checkout_id, sent.payment_method, sent.reference)
    return _picked(checkout_id)


@call(
    "POST /checkouts/<checkout_id>/pay",
    "the customer pays",
    command="pay <checkout_id>",
    shown=_SHOWN,
    may_be_empty=True,
)
def pay(checkout_id: str, sent: Pay) -> Picked:
    triggers.ensure_picked(checkout_id)
    triggers.pay_picked(checkout_id, sent.amount)
    return _picked(checkout_id)


@call("POST /checkouts/<checkout_id>/fail", "the bank refuses the payment", command="fail <checkout_id>", shown=_SHOWN)
def fail(checkout_id: str) -> Picked:
    triggers.fail(checkout_id)
    return _picked(checkout_id)


@call(
    "POST /checkouts/<checkout_id>/leave",
    "the customer leaves without choosing; the clock moves past the page's end",
    command="abandon <checkout_id>",
)
def leave(checkout_id: str) -> Time:
    triggers.abandon(checkout_id)
    return read_time()


@call(
    "GET /disbursements",
    "lists what is to be paid out, oldest first",
    command="disbursements",
    shown="disbursementId account status amount currency reference",
)
def read_disbursements(session: Session, query: OfAccount) -> list[DisbursementRecord]:
    return triggers.list_disbursements(session, *query.conditions(session, Disbursement.user_id))


@call(
    "POST /disbursements/<disbursement_id>/finish",
    "the bank completes a pending disbursement, or lets it fail",
    command="finish <disbursement_id> <status>",
)
def finish(disbursement_id: str, sent: Finish) -> DisbursementRecord:
    return triggers.finish(disbursement_id, sent.status)


@call(
    "GET /disbursements/<disbursement_id>/proof",
    "reads the transfer proof of a completed fiat disbursement",
    media_type="application/pdf",
)
def read_proof(session: Session, disbursement_id: str) -> Response:
    disbursement = find_fiat(session, disbursement_id)
    if disbursement is None:
        raise CallRefused(404, "disbursement", "does not exist, or is none of a bank", "GET /_sandbox/disbursements.")
    if disbursement.status != COMPLETED:
        raise NotPossible(f"is {disbursement.status}, so that it has no proof", "disbursement")
    return proof_of(disbursement)
