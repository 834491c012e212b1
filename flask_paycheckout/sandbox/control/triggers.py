"""Events that a tester causes by name: a checkout or a payout in a wanted state, a refund, a webhook once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.endpoints import (
    NewCheckout,
    page_url,
    store_checkout,
)
from flask_paycheckout.sandbox.control import customer
from flask_paycheckout.sandbox.control.accounts import find_account
from flask_paycheckout.sandbox.control.message_calls import send_again
from flask_paycheckout.sandbox.deposits.tables import COMPLETED, Deposit
from flask_paycheckout.sandbox.deposits.transitions import find_checkout, pick
from flask_paycheckout.sandbox.disbursements.fiat import disburse_v2
from flask_paycheckout.sandbox.disbursements.fiat_schemas import ITEMS, FiatPaymentV2, NewFiatDisbursementsV2
from flask_paycheckout.sandbox.disbursements.tables import FAILED, Disbursement
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.envelope import FieldError, Record
from flask_paycheckout.sandbox.wire.field_types import (
    Choice,
    OptionalAmount,
    OptionalText,
    declared_fields,
)
from flask_paycheckout.sandbox.world.context import current_time
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.transitions import NotPossible

_AMOUNT, _CURRENCY = Decimal("12.50"), "USD"
_FOR_NEW = ("account", "amount", "currency")


class Triggered(Record):
    """The object that an event happened to."""

    event: str
    id: str
    account: str
    status: str
    url: str | None


@dataclass(frozen=True)
class Event:
    """How an event is caused, and which fields it takes."""

    cause: Callable[[Trigger], Triggered]
    for_new: tuple[str, ...] | None
    """Fields that are taken without an id, when it begins with something new; None: it needs an id."""
    for_named: tuple[str, ...] | None
    """Fields that are taken with an id; None: it takes no id."""


def trigger(asked: Trigger) -> Triggered:
    """Cause an event, and return what it happened to.

    :raises FieldError: the event does not take one of the fields.
    :raises NotPossible: the state of the checkout or disbursement does not allow it.
    """
    event = EVENTS[asked.event]
    taken = event.for_new if asked.id is None else event.for_named
    if taken is None:
        raise FieldError(f"id is {'required' if asked.id is None else 'not taken'} for this event.")
    for field in declared_fields(Trigger):
        if field.name not in ("event", "id", *taken) and getattr(asked, field.attribute) is not None:
            raise FieldError(f"{field.name} is not taken for this event {'with' if asked.id else 'without'} an id.")
    return event.cause(asked)


def _checkout(then: Callable[[str], object] | None, *, picked: bool = True) -> Event:
    """An event of a checkout: of the one that is named, else of a new one."""

    def cause(asked: Trigger) -> Triggered:
        checkout_id = asked.id
        if checkout_id is None:
            checkout_id = _make_checkout(asked, pick_too=picked)
        elif picked:
            customer.ensure_picked(checkout_id, asked.payment_method)
        if then is not None:
            then(checkout_id)
        return _tell_checkout(asked.event, checkout_id)

    of_picking = ("paymentMethod",) if picked else ()
    return Event(cause, _FOR_NEW + of_picking, of_picking)


def _make_checkout(asked: Trigger, *, pick_too: bool) -> str:
    with transaction() as session:
        account = find_account(session, asked.account or ACCOUNT_NAME)
        if not account.checkout_enabled:
            raise NotPossible("the account may not create checkouts")
        new = NewCheckout(asked.currency or _CURRENCY, asked.amount or _AMOUNT)
        checkout_id = store_checkout(session, account.user_id, new)
        if pick_too:
            # Together, so that a method that cannot be picked leaves no checkout behind.
            pick(session, checkout_id, asked.payment_method)
        return checkout_id


def _tell_checkout(event: str, checkout_id: str) -> Triggered:
    with transaction() as session:
        checkout, deposit = find_checkout(session, checkout_id), session.get(Deposit, checkout_id)
        unpicked = "not_picked" if checkout.expires_at > current_time() else "page_expired"
        account = session.scalars(select(Account.name).where(Account.user_id == checkout.user_id)).one()
        status = unpicked if deposit is None else deposit.status
        return Triggered(event, checkout_id, account, status, page_url(checkout_id))


def _payout(status: str | None) -> Event:
    """An event of a disbursement: of the one that is named, else of a new one to a saved recipient."""

    def cause(asked: Trigger) -> Triggered:
        payout_id = asked.id
        if payout_id is None:
            with transaction() as session:
                user_id = find_account(session, asked.account or ACCOUNT_NAME).user_id
                payout_id = _disburse(session, user_id, asked.amount or _AMOUNT, asked.currency or _CURRENCY, None)
        if status is not None:
            customer.finishes(payout_id, status)
        return _tell_disbursement(asked.event, payout_id)

    return Event(cause, _FOR_NEW, None if status is None else ())


def _disburse(session: Session, user_id: str, amount: Decimal, currency: str, reference: str | None) -> str:
    """Ask for a fiat disbursement to the account's oldest recipient in the currency, as the merchant would."""
    found = select(Recipient.id).where(Recipient.user_id == user_id, Recipient.currency == currency)
    recipient_id = session.scalar(found.order_by(Recipient.number).limit(1))
    if recipient_id is None:
        raise FieldError(f"currency {currency} is that of no saved recipient of the account.")
    payment = FiatPaymentV2(amount, recipient_id=recipient_id, reference=reference)
    try:
        batch = disburse_v2(session, user_id, NewFiatDisbursementsV2(currency, [payment]))
    except FieldError as wrong:
        raise FieldError(str(wrong).removeprefix(f"{ITEMS}[0].")) from None
    return batch.disburse_data[0].disbursement_id


def _refund(asked: Trigger) -> Triggered:
    """Ask for a disbursement of what a customer paid; its reference is `refund-` and the checkout's id."""
    checkout_id = str(asked.id)
    with transaction() as session:
        find_checkout(session, checkout_id)
        deposit = session.get(Deposit, checkout_id)
        if deposit is None or deposit.status != COMPLETED:
            raise NotPossible("the checkout is not paid")
        amount = asked.amount or deposit.input_amount
        if amount > deposit.input_amount:
            raise FieldError(f"amount is more than the {deposit.input_amount:f} that the customer paid.")
        reference = f"refund-{deposit.id}"
        used = select(Disbursement.id).where(
            Disbursement.user_id == deposit.user_id, Disbursement.reference == reference
        )
        if session.scalar(used.limit(1)) is not None:
            raise NotPossible("the checkout was refunded already")
        refund = _disburse(session, deposit.user_id, amount, deposit.input_currency, reference)
    return _tell_disbursement(asked.event, refund)


def _tell_disbursement(event: str, disbursement_id: str) -> Triggered:
    with transaction() as session:
        [made] = customer.list_disbursements(session, Disbursement.id == disbursement_id)
    return Triggered(event, disbursement_id, made.account, made.status, None)


def _webhook(asked: Trigger) -> Triggered:
    """Send a webhook again: the one with the id, or the newest about the deposit or disbursement with the id."""
    with transaction() as session:
        about = select(Webhook.id).where(Webhook.order_id == asked.id)
        newest = session.scalar(about.order_by(Webhook.number.desc()).limit(1))
    sent = send_again(newest or str(asked.id))
    return Triggered(asked.event, sent.id, sent.account, sent.state, None)


EVENTS = {
    "checkout": _checkout(None, picked=False),
    "abandoned": _checkout(customer.picks_nothing, picked=False),
    "picked": _checkout(None),
    "paid": _checkout(customer.pays_what_was_picked),
    "underpaid": _checkout(customer.pays_less),
    "overpaid": _checkout(customer.pays_more),
    "paid-late": _checkout(customer.pays_late),
    "failed": _checkout(customer.fails),
    "expired": _checkout(customer.lets_expire),
    "payout": _payout(None),
    "payout-completed": _payout(COMPLETED),
    "payout-failed": _payout(FAILED),
    "refund": Event(_refund, None, ("amount",)),
    "webhook": Event(_webhook, None, ()),
}
"""All events, by name."""


@dataclass(frozen=True)
class Trigger:
    """An event that a tester asks for. Without `id`, it begins with something new."""

    event: Annotated[str, Choice(tuple(EVENTS))]
    id: OptionalText = None
    account: OptionalText = None
    amount: OptionalAmount = None
    currency: OptionalText = None
    payment_method: OptionalText = None
