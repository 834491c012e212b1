"""Named actions of customers, banks and merchants, which testers, the hosted page and the fault plan cause."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from functools import partial
from typing import Annotated

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.checkouts.endpoints import NewCheckout, page_url, store_checkout
from flask_paycheckout.sandbox.control.accounts import find_account
from flask_paycheckout.sandbox.control.calls import call
from flask_paycheckout.sandbox.control.message_calls import send_again
from flask_paycheckout.sandbox.control.sender import run_due, send_and_wait
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import (
    expire_due,
    fail_deposit,
    find_checkout,
    find_picked,
    pay,
    pick,
)
from flask_paycheckout.sandbox.disbursements.fiat import disburse
from flask_paycheckout.sandbox.disbursements.fiat_schemas import ITEMS, FiatPaymentV2
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import finish_disbursement
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import FieldError, Record, Timestamp
from flask_paycheckout.sandbox.wire.field_types import Amount, Code, Request, Text, choice, declared_fields
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import current_time, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.money import EXACT, rounded, rows_of
from flask_paycheckout.sandbox.world.settings import advance_clock
from flask_paycheckout.sandbox.world.transitions import COMPLETED, FAILED, NotPossible

_AMOUNT, _CURRENCY = Decimal("12.50"), "USD"
_MOMENT = timedelta(seconds=1)
"""How far beyond an expiry the clock is advanced."""


def times(deposit: Deposit, factor: str) -> Decimal:
    """The requested amount times a factor, rounded down to the currency's smallest unit."""
    return rounded(EXACT.multiply(deposit.input_amount, Decimal(factor)), deposit.input_currency, ROUND_DOWN)


def ensure_picked(checkout_id: str, method_code: str | None = None) -> None:
    """Pick a method, by default the first usable one, unless one was picked and none is named."""
    with transaction() as session:
        find_checkout(session, checkout_id)
        if method_code is not None or session.get(Deposit, checkout_id) is None:
            pick(session, checkout_id, method_code)


def pay_picked(checkout_id: str, amount: Decimal | None = None) -> None:
    """Let the money arrive for a checkout whose method was picked."""
    with transaction() as session:
        expire_due(session)
        pay(session, checkout_id, amount)
    send_and_wait()


def _pay_times(factor: str, checkout_id: str) -> None:
    with transaction() as session:
        amount = times(find_picked(session, checkout_id), factor)
    pay_picked(checkout_id, amount)


def _pay_late(checkout_id: str) -> None:
    """Let money that was sent in time arrive after the page has expired."""
    leave(checkout_id)
    pay_picked(checkout_id)


def fail(checkout_id: str) -> None:
    """Let the bank refuse the payment."""
    with transaction() as session:
        fail_deposit(session, find_picked(session, checkout_id))
    send_and_wait()


def _expire(checkout_id: str) -> None:
    with transaction() as session:
        end = find_picked(session, checkout_id).expired_at
    _wait(checkout_id, end)


def abandon(checkout_id: str) -> None:
    """Leave the page without picking a method, so that no deposit will ever exist."""
    with transaction() as session:
        if session.get(Deposit, checkout_id) is not None:
            raise NotPossible("a payment method was picked already")
    leave(checkout_id)


def leave(checkout_id: str) -> None:
    """Leave the page: the clock advances to just after its end."""
    with transaction() as session:
        end = find_checkout(session, checkout_id).expires_at
    _wait(checkout_id, end)


def _wait(checkout_id: str, end: datetime) -> None:
    """Let time pass until a moment, unless the checkout is paid."""
    with transaction() as session:
        deposit, left = session.get(Deposit, checkout_id), end - current_time()
        if deposit is not None and deposit.status == COMPLETED:
            raise NotPossible("the checkout is paid")
        if left > timedelta():
            advance_clock(session, world().clock, left + _MOMENT)
    run_due()


OF_UNPICKED: dict[str, Callable[[str], object]] = {"checkout": lambda checkout_id: None, "abandoned": abandon}
OF_PICKED: dict[str, Callable[[str], object]] = {
    "picked": lambda checkout_id: None,
    "paid": pay_picked,
    "underpaid": partial(_pay_times, "0.5"),
    "overpaid": partial(_pay_times, "2"),
    "paid-late": _pay_late,
    "failed": fail,
    "expired": _expire,
}
"""Events of checkouts, with their functions; before those in `OF_PICKED` the customer picks a method."""
_OF_PAYOUTS = {"payout-completed": COMPLETED, "payout-failed": FAILED}
_FIELDS = {
    event: (of_new, of_known)
    for event, of_new, of_known in rows_of("""
checkout         | account amount currency               |
abandoned        | account amount currency               |
picked           | account amount currency paymentMethod | paymentMethod
paid             | account amount currency paymentMethod | paymentMethod
underpaid        | account amount currency paymentMethod | paymentMethod
overpaid         | account amount currency paymentMethod | paymentMethod
paid-late        | account amount currency paymentMethod | paymentMethod
failed           | account amount currency paymentMethod | paymentMethod
expired          | account amount currency paymentMethod | paymentMethod
payout           | account amount currency               | -
payout-completed | account amount currency               |
payout-failed    | account amount currency               |
refund           | -                                     | amount
webhook          | -                                     |
""")
}
"""For each event, the fields that it takes without an id, and with one; `-` where it needs an id, or takes none.
"""
EVENTS = tuple(_FIELDS)


class Trigger(Request):
    """An event that a tester asks for. Without `id`, it begins with something new."""

    event: Annotated[str, choice(*EVENTS)]
    id: Text | None = None
    account: Text | None = None
    amount: Amount | None = None
    currency: Code | None = None
    payment_method: Text | None = None


class Triggered(Record):
    """The object that an event happened to."""

    event: str
    id: str
    account: str
    status: str
    url: str | None


@call(
    "POST /trigger",
    "brings a checkout or a payout into a state, or sends a webhook again",
    command="trigger <event> [id]",
)
def trigger(sent: Trigger) -> Triggered:
    """Cause an event, and return the object that it changed.

    :raises FieldError: the event does not take one of the fields.
    :raises NotPossible: the state of the checkout or disbursement does not allow it.
    """
    _check_fields(sent)
    if sent.event in OF_UNPICKED | OF_PICKED:
        return _cause_of_checkout(sent)
    if sent.event == "webhook":
        return _send_webhook(sent)
    payout_id = _refund(sent) if sent.event == "refund" else sent.id or _make_payout(sent)
    if (status := _OF_PAYOUTS.get(sent.event)) is not None:
        finish(payout_id, status)
    with transaction() as session:
        [disbursement] = list_disbursements(session, Disbursement.id == payout_id)
    return Triggered(sent.event, payout_id, disbursement.account, disbursement.status, None)


def _check_fields(request: Trigger) -> None:
    """Refuse fields that an event does not take, because a test would expect an effect."""
    taken = _FIELDS[request.event][0 if request.id is None else 1]
    if taken == "-":
        raise FieldError(f"id is {'required' if request.id is None else 'not taken'} for this event.")
    for field in declared_fields(Trigger):
        if field.name not in ("event", "id", *taken.split()) and getattr(request, field.attribute) is not None:
            raise FieldError(f"{field.name} is not taken for this event {'with' if request.id else 'without'} an id.")


def _cause_of_checkout(request: Trigger) -> Triggered:
    is_picked = request.event in OF_PICKED
    checkout_id = request.id or _make_checkout(request, pick_too=is_picked)
    if is_picked:
        ensure_picked(checkout_id, request.payment_method)
    (OF_UNPICKED | OF_PICKED)[request.event](checkout_id)
    with transaction() as session:
        checkout, deposit = find_checkout(session, checkout_id), session.get(Deposit, checkout_id)
        unpicked = "not_picked" if checkout.expires_at > current_time() else "page_expired"
        account = session.scalars(select(Account.name).where(Account.user_id == checkout.user_id)).one()
    status = unpicked if deposit is None else deposit.status
    return Triggered(request.event, checkout_id, account, status, page_url(checkout_id))


def _make_checkout(request: Trigger, *, pick_too: bool) -> str:
    with transaction() as session:
        account = find_account(session, request.account or ACCOUNT_NAME)
        if not account.checkout_enabled:
            raise NotPossible("the account may not create checkouts")
        new = NewCheckout(request.currency or _CURRENCY, request.amount or _AMOUNT)
        checkout_id = store_checkout(session, account.user_id, new)
        if pick_too:
            # In one transaction, so that a method that cannot be picked leaves no checkout behind.
            pick(session, checkout_id, request.payment_method)
    return checkout_id


def _make_payout(request: Trigger) -> str:
    with transaction() as session:
        user_id = find_account(session, request.account or ACCOUNT_NAME).user_id
        return _disburse(session, user_id, request.amount or _AMOUNT, request.currency or _CURRENCY)


def _disburse(session: Session, user_id: str, amount: Decimal, currency: str, reference: str | None = None) -> str:
    """Make a fiat disbursement to the account's oldest recipient in the currency, as the merchant would."""
    recipients = select(Recipient.id).where(Recipient.user_id == user_id, Recipient.currency == currency)
    recipient_id = session.scalar(recipients.order_by(Recipient.number).limit(1))
    if recipient_id is None:
        raise FieldError(f"currency {currency} is that of no saved recipient of the account.")
    payment = FiatPaymentV2(amount, recipient_id=recipient_id, reference=reference)
    try:
        [disbursement] = disburse(session, user_id, [(currency, payment)], grouped=True)
    except FieldError as error:
        raise FieldError(str(error).removeprefix(f"{ITEMS}[0].")) from None
    return disbursement.id


def _refund(request: Trigger) -> str:
    """Disburse what a customer paid, or a part of it; the reference is `refund-` and the checkout's id."""
    with transaction() as session:
        deposit = find_picked(session, str(request.id))
        if deposit.status != COMPLETED:
            raise NotPossible("the checkout is not paid")
        amount, reference = request.amount or deposit.input_amount, f"refund-{deposit.id}"
        if amount > deposit.input_amount:
            raise FieldError(f"amount is more than the {deposit.input_amount:f} that the customer paid.")
        of_account = Disbursement.user_id == deposit.user_id
        if session.scalar(select(Disbursement.id).where(of_account, Disbursement.reference == reference).limit(1)):
            raise NotPossible("the checkout was refunded already")
        return _disburse(session, deposit.user_id, amount, deposit.input_currency, reference)


def _send_webhook(request: Trigger) -> Triggered:
    """Send a webhook again: the one with the id, or the newest about the deposit or disbursement with the id."""
    with transaction() as session:
        about = select(Webhook.id).where(Webhook.order_id == request.id)
        newest = session.scalar(about.order_by(Webhook.number.desc()).limit(1))
    webhook = send_again(newest or str(request.id))
    return Triggered(request.event, webhook.id, webhook.account, webhook.state, None)


class DisbursementRecord(Record):
    """A disbursement of either kind, as the control interface shows it."""

    disbursement_id: str
    account: str
    kind: str
    reference: str | None
    amount: Decimal
    currency: str
    to: str | None
    status: str
    created_at: Timestamp


def list_disbursements(session: Session, *conditions: ColumnElement[bool]) -> list[DisbursementRecord]:
    """The disbursements that fulfil the conditions, of both kinds, oldest first."""
    rows = session.execute(
        select(Disbursement, Account.name)
        .join(Account, Account.user_id == Disbursement.user_id)
        .where(*conditions)
        .order_by(Disbursement.number)
    )
    return [
        DisbursementRecord.of(disbursement, disbursement_id=disbursement.id, account=account)
        for disbursement, account in rows
    ]


def finish(disbursement_id: str, status: str) -> DisbursementRecord:
    """Let the bank carry out a pending disbursement or refuse it, and send its webhook.

    :raises CallRefused: there is none with this id.
    :raises NotPossible: it is not pending any more.
    """
    with transaction() as session:
        disbursement = session.scalar(select(Disbursement).where(Disbursement.id == disbursement_id))
        if disbursement is None:
            raise CallRefused(404, "disbursement", "does not exist", "GET /_sandbox/disbursements lists them.")
        finish_disbursement(session, disbursement, status)
        [finished] = list_disbursements(session, Disbursement.id == disbursement.id)
    send_and_wait()
    return finished
