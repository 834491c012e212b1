"""Deposits as they are read and updated below `/v1/deposit`, and their transitions.

Each transition locks its row before it looks at the state, and has its history entry in the same transaction.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Annotated

from flask import Blueprint
from sqlalchemy import or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.checkouts.endpoints import Checkout, offers
from flask_paycheckout.sandbox.checkouts.methods import METHODS, PaymentMethod, Quote, quote_paying
from flask_paycheckout.sandbox.deposits.tables import (
    KNOWN_STATUSES,
    Deposit,
    DepositRecord,
    represent,
)
from flask_paycheckout.sandbox.outgoing.webhooks import enqueue, send_due
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import FieldError, Refusal, to_wire, unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import Request, text
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.money import decimals_of, is_divisible
from flask_paycheckout.sandbox.world.transitions import COMPLETED, PENDING, NotPossible, force_status, move_due, note

_LIFETIMES = {"24h": timedelta(hours=24), "15m": timedelta(minutes=15)}
_USED_REFERENCE = "the reference is that of another deposit of the account"


def find_checkout(session: Session, checkout_id: str) -> Checkout:
    """The checkout with this id.

    :raises CallRefused: there is no such checkout.
    """
    checkout = session.get(Checkout, checkout_id)
    if checkout is None:
        raise CallRefused(404, "checkout", "does not exist", "Make one with POST /v1/checkout.")
    return checkout


def find_picked(session: Session, checkout_id: str) -> Deposit:
    """The deposit of a checkout, with its row locked.

    :raises NotPossible: no payment method was picked.
    """
    find_checkout(session, checkout_id)
    deposit = session.get(Deposit, checkout_id, with_for_update=True, populate_existing=True)
    if deposit is None:
        raise NotPossible("the customer has not picked a payment method")
    return deposit


def find_deposit(session: Session, user_id: str, id_or_reference: str) -> Deposit | None:
    """Find an account's deposit by its id, else by its reference."""
    query = select(Deposit).where(or_(Deposit.id == id_or_reference, Deposit.reference == id_or_reference))
    # The user id is compared here: as a condition, it would keep the database from using the other two indexes.
    matches = [deposit for deposit in session.scalars(query) if deposit.user_id == user_id]
    return min(matches, key=lambda deposit: deposit.id != id_or_reference, default=None)


def pick(session: Session, checkout_id: str, method_code: str | None = None, reference: str | None = None) -> Deposit:
    """Create the deposit for the method that the customer picks, by default the first usable one.

    Picking the same method again changes nothing.

    :raises CallRefused: the checkout cannot be paid by it.
    :raises NotPossible: another one was picked, the page has expired, or another deposit has the reference."""
    checkout = find_checkout(session, checkout_id)
    session.refresh(checkout, with_for_update=True)
    if checkout.picked_at is not None or not checkout.page_is_open:
        return _picked_before(session, checkout_id, method_code, reference)
    checkout.picked_at = current_time()
    if reference is not None and find_deposit(session, checkout.user_id, reference) is not None:
        raise NotPossible(_USED_REFERENCE)
    method, quote = _choose(session, checkout, method_code)
    try:
        return _make_deposit(session, checkout, method, quote, reference)
    except IntegrityError:
        # Another deposit has just taken the reference. The id is free, because only one pick gets here.
        raise NotPossible(_USED_REFERENCE) from None


def _picked_before(session: Session, checkout_id: str, method_code: str | None, reference: str | None) -> Deposit:
    deposit = session.get(Deposit, checkout_id)
    if deposit is None:
        raise NotPossible("the checkout's page expired 15 minutes after it was made")
    if method_code not in {None, deposit.method}:
        raise NotPossible(f"the customer has picked {deposit.method} already")
    if reference not in {None, deposit.reference}:
        raise NotPossible("the customer has picked already, and the deposit has no such reference")
    return deposit


def change_method(session: Session, checkout_id: str, method_code: str) -> None:
    """Let the customer go back and pick another method, until the page expires or money arrives.

    :raises CallRefused: the checkout cannot be paid by it.
    :raises NotPossible: nothing was picked, the page has expired, or the deposit is not pending.
    """
    checkout, deposit = find_checkout(session, checkout_id), find_picked(session, checkout_id)
    if not checkout.page_is_open:
        raise NotPossible("the checkout's page has expired")
    if method_code == deposit.method:
        return
    if deposit.status != PENDING:
        raise NotPossible(f"the deposit is {deposit.status}")
    method, quote = _choose(session, checkout, method_code)
    deposit.method, deposit.updated_at = method.code, current_time()
    deposit.input_amount, deposit.fee_amount, deposit.output_amount = quote
    note(session, deposit, "Payment method changed", f"The customer pays by {method.name}.")


def _choose(session: Session, checkout: Checkout, method_code: str | None) -> tuple[PaymentMethod, Quote]:
    usable = offers(session, checkout)
    chosen = [offer for offer in usable if method_code in {None, offer[0].code}]
    if not chosen:
        fault = f"must be one of: {', '.join(method.code for method, _ in usable) or 'none is enabled'}"
        raise CallRefused(400, "paymentMethod", fault, "Name one of them, or leave the field out.")
    return chosen[0]


def _make_deposit(
    session: Session, checkout: Checkout, method: PaymentMethod, quote: Quote, reference: str | None
) -> Deposit:
    lifetime, now = assumption("deposit_lifetime"), current_time()
    deposit = Deposit(
        id=checkout.id,
        reference=reference,
        user_id=checkout.user_id,
        method=method.code,
        input_currency=checkout.input_currency,
        output_currency=checkout.output_currency,
        **quote._asdict(),
        rate=checkout.rate,
        status=PENDING,
        created_at=now,
        updated_at=now,
        expired_at=checkout.expires_at if lifetime == "checkout_end" else now + _LIFETIMES[lifetime],
    )
    session.add(deposit)
    session.flush()
    note(session, deposit, "Payment method picked", f"The customer pays by {method.name}.")
    return deposit


def pay(session: Session, deposit_id: str, amount: Decimal | None = None) -> None:
    """Complete a deposit with the money that arrives: the amount requested, or another.

    :raises NotPossible: nothing was picked, or the deposit is completed or closed."""
    deposit = find_picked(session, deposit_id)
    if not is_payable(deposit):
        raise NotPossible(f"the deposit is {deposit.status} and takes no payment")
    deposit.input_amount, deposit.fee_amount, deposit.output_amount = _paid(deposit, amount)
    deposit.status, deposit.updated_at = COMPLETED, current_time()
    note(session, deposit, "Payment received", f"{deposit.input_amount:f} {deposit.input_currency} received.")
    _enqueue_webhook(session, deposit)


def _paid(deposit: Deposit, amount: Decimal | None) -> Quote:
    """The amounts of a completed deposit. Another amount than the requested one has fees, but no limits."""
    if amount is None or amount == deposit.input_amount:
        return Quote(deposit.input_amount, deposit.fee_amount, deposit.output_amount)
    if not is_divisible(amount, decimals_of(deposit.input_currency) or 0):
        raise FieldError(f"amount has more decimals than {deposit.input_currency}.")
    return quote_paying(METHODS[deposit.method], deposit.output_currency, deposit.rate, amount)


def is_payable(deposit: Deposit) -> bool:
    """Whether money that arrives now completes a deposit."""
    if deposit.expired_at > current_time():
        return deposit.status == PENDING
    return assumption("late_payment") == "completes" and deposit.status in {PENDING, assumption("deposit_after_expiry")}


def fail_deposit(session: Session, deposit: Deposit) -> None:
    """Let the bank refuse the payment; `deposit_after_refusal` is the status. :raises NotPossible: it is completed."""
    force_status(session, deposit, assumption("deposit_after_refusal"), lambda status: status != COMPLETED)
    note(session, deposit, "Payment refused", "The bank refused the payment.")
    _report_end(session, deposit)


def _report_end(session: Session, deposit: Deposit) -> None:
    """Queue the webhook of a failed or expired deposit, if the unknown `deposit_failure_webhook` says so."""
    if assumption("deposit_failure_webhook") == "sent":
        _enqueue_webhook(session, deposit)


def expire_due(session: Session) -> None:
    """Give pending deposits that have expired the status that `deposit_after_expiry` names."""
    status = assumption("deposit_after_expiry")
    if status == PENDING:
        return
    for deposit in move_due(session, Deposit, PENDING, status, Deposit.expired_at <= current_time()):
        note(session, deposit, "Deposit expired", "No payment arrived in time.")
        _report_end(session, deposit)


def _enqueue_webhook(session: Session, deposit: Deposit) -> Deposit:
    """Queue the deposit webhook in the current transaction; it is sent after the commit."""
    payload = {"orderId": deposit.id}
    if assumption("webhook_payload") == "full":
        payload |= {"event": "deposit"} | to_wire(represent(session, deposit))
    enqueue(session, deposit.user_id, deposit.id, payload)
    return deposit


deposits = Blueprint("deposits", __name__)


class DepositUpdate(Request):
    """The body of a sandbox update, which forces a status."""

    status: Annotated[str, text(40)]


@deposits.get("/v1/deposit/<path:deposit_id>")
@operation()
def read_deposit(session: Session, account: Account, deposit_id: str) -> DepositRecord:
    """Read a deposit by its id or its reference, which may contain slashes.

    It does not exist before the customer picked a method.
    """
    expire_due(session)
    deposit = find_deposit(session, account.user_id, deposit_id)
    if deposit is None:
        raise Refusal(404, "Deposit not found")
    return represent(session, deposit)


@deposits.patch("/v1/deposit/<path:deposit_id>")
@operation(after=send_due, message="Deposit updated successfully")
def update_deposit(session: Session, account: Account, deposit_id: str, sent: DepositUpdate) -> DepositRecord:
    """Force a status, which only a sandbox allows."""
    if assumption("forced_status") == "known" and sent.status not in KNOWN_STATUSES:
        raise unspecified_refusal(400, "status is none that the service knows.")
    deposit = session.get(Deposit, deposit_id)
    if deposit is None or deposit.user_id != account.user_id:
        raise unspecified_refusal(400, "Deposit not found")
    is_accepted = assumption("forced_update_of_completed") == "accepted"
    force_status(session, deposit, sent.status, lambda status: is_accepted or status != COMPLETED)
    note(session, deposit, "Status updated in the sandbox", f"The status became {sent.status}.")
    return represent(session, _enqueue_webhook(session, deposit))
