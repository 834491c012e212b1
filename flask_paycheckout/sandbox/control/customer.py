"""Actions of the customer and their bank, for the hosted page, the control interface and the fault plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.endpoints import Checkout
from flask_paycheckout.sandbox.control.sender import run_due, send_and_wait
from flask_paycheckout.sandbox.deposits.tables import COMPLETED, Deposit
from flask_paycheckout.sandbox.deposits.transitions import (
    expire_due,
    fail_deposit,
    find_checkout,
    pay,
    pick,
)
from flask_paycheckout.sandbox.disbursements.tables import BankTransfer, Disbursement, WalletTransfer
from flask_paycheckout.sandbox.disbursements.transitions import finish_disbursement
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp
from flask_paycheckout.sandbox.world.context import current_time, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.money import EXACT, unit_of
from flask_paycheckout.sandbox.world.settings import advance_clock
from flask_paycheckout.sandbox.world.transitions import NotPossible

MOMENT = timedelta(seconds=1)
"""How long after an expiry the clock stands when somebody has waited for it."""


def picks(checkout_id: str, method_code: str | None = None, reference: str | None = None) -> Deposit:
    """Pick a method, which creates the deposit."""
    with transaction() as session:
        return pick(session, checkout_id, method_code, reference)


def ensure_picked(checkout_id: str, method_code: str | None = None) -> None:
    """Pick a method, unless one was picked and none is named."""
    with transaction() as session:
        find_checkout(session, checkout_id)
        if method_code is not None or session.get(Deposit, checkout_id) is None:
            pick(session, checkout_id, method_code)


def pays(checkout_id: str, amount: Decimal | None = None) -> Deposit:
    """Pay a checkout, after picking the first usable method unless one was picked."""
    ensure_picked(checkout_id)
    return pays_what_was_picked(checkout_id, amount)


def pays_what_was_picked(checkout_id: str, amount: Decimal | None = None) -> Deposit:
    """Pay a checkout for which a method was picked, as the button of the hosted page does."""
    with transaction() as session:
        expire_due(session)
        deposit = pay(session, checkout_id, amount)
    send_and_wait()
    return deposit


def half_of(deposit: Deposit) -> Decimal:
    """Half of the requested amount, rounded down to the currency's smallest unit."""
    half = EXACT.divide(deposit.input_amount, Decimal(2))
    return half.quantize(unit_of(deposit.input_currency), rounding=ROUND_DOWN, context=EXACT)


def double_of(deposit: Deposit) -> Decimal:
    """Twice the requested amount."""
    return EXACT.multiply(deposit.input_amount, Decimal(2))


def pays_less(checkout_id: str) -> None:
    pays_what_was_picked(checkout_id, half_of(_picked(checkout_id)))


def pays_more(checkout_id: str) -> None:
    pays_what_was_picked(checkout_id, double_of(_picked(checkout_id)))


def leaves(checkout_id: str) -> None:
    """Leave the page without paying: the clock advances to just after its expiry."""
    _wait_past(checkout_id, lambda checkout, _: checkout.expires_at)


def lets_expire(checkout_id: str) -> None:
    """Let the time pass until which the picked method may be paid."""
    _picked(checkout_id)
    _wait_past(checkout_id, lambda _, deposit: deposit.expired_at)


def _wait_past(checkout_id: str, end: Callable[[Checkout, Any], datetime]) -> None:
    with transaction() as session:
        checkout, deposit = find_checkout(session, checkout_id), session.get(Deposit, checkout_id)
        if deposit is not None and deposit.status == COMPLETED:
            raise NotPossible("the checkout is paid")
        left = end(checkout, deposit) - current_time()
        if left > timedelta():
            advance_clock(session, world().clock, left + MOMENT)
    run_due()


def picks_nothing(checkout_id: str) -> None:
    """Leave the page without picking a method, so that no deposit will ever exist."""
    with transaction() as session:
        find_checkout(session, checkout_id)
        if session.get(Deposit, checkout_id) is not None:
            raise NotPossible("a payment method was picked already")
    leaves(checkout_id)


def pays_late(checkout_id: str) -> None:
    """Let money that was sent in time arrive after the page has expired."""
    _picked(checkout_id)
    leaves(checkout_id)
    pays_what_was_picked(checkout_id)


def fails(checkout_id: str) -> Deposit:
    """Let the bank refuse the payment."""
    with transaction() as session:
        find_checkout(session, checkout_id)
        deposit = session.get(Deposit, checkout_id)
        if deposit is None or deposit.status == COMPLETED:
            raise NotPossible("only a deposit that is not completed can fail")
        fail_deposit(session, deposit)
    send_and_wait()
    return deposit


def _picked(checkout_id: str) -> Deposit:
    with transaction() as session:
        deposit = session.get(Deposit, checkout_id)
    if deposit is None:
        raise NotPossible("the customer has not picked a payment method")
    return deposit


class DisbursementRecord(Record):
    """A disbursement of either kind, as the control interface shows it."""

    disbursement_id: str
    account: str
    kind: str
    reference: str | None
    amount: Decimal
    currency: str
    to: str | None
    """The id of a saved recipient, the account number of another one, or the address of a wallet."""
    status: str
    created_at: Timestamp


def list_disbursements(session: Session, *conditions: ColumnElement[bool]) -> list[DisbursementRecord]:
    """The disbursements that fulfil the conditions, of both kinds, oldest first."""
    to = func.coalesce(WalletTransfer.receiver_address, BankTransfer.recipient_id, BankTransfer.account_number)
    rows = session.execute(
        select(
            Disbursement.__table__,
            Disbursement.id.label("disbursement_id"),
            Account.name.label("account"),
            to.label("to"),
        )
        .join(Account, Account.user_id == Disbursement.user_id)
        .where(*conditions)
        .outerjoin(BankTransfer, BankTransfer.disbursement_id == Disbursement.id)
        .outerjoin(WalletTransfer, WalletTransfer.disbursement_id == Disbursement.id)
        .order_by(Disbursement.number)
    )
    return DisbursementRecord.of_all(rows)


def finishes(disbursement_id: str, status: str) -> DisbursementRecord:
    """Carry out a pending disbursement or let it fail, and send its webhook.

    :raises CallRefused: there is none with this id, or it is not pending any more.
    """
    with transaction() as session:
        made = session.scalar(select(Disbursement).where(Disbursement.id == disbursement_id))
        if made is None:
            raise CallRefused(404, "disbursement", "does not exist", "GET /_sandbox/disbursements lists them.")
        try:
            finish_disbursement(session, made, status)
        except NotPossible as wrong:
            remedy = "PATCH /v1/disbursement/{disbursementId} may change it; or trigger a new one."
            raise CallRefused(409, "disbursement", str(wrong), remedy) from None
        [finished] = list_disbursements(session, Disbursement.id == made.id)
    send_and_wait()
    return finished
