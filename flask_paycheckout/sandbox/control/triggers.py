"""Events that a tester causes by name: a checkout or a payout in a wanted state, a refund, a webhook once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.rules import (
    NewCheckout,
    find_checkout,
    page_url,
    requested_amounts,
    store_checkout,
)
from flask_paycheckout.sandbox.control import customer
from flask_paycheckout.sandbox.control.accounts import find_account
from flask_paycheckout.sandbox.control.delivery_log import describe_webhook
from flask_paycheckout.sandbox.control.sender import run_due
from flask_paycheckout.sandbox.deposits.tables import COMPLETED, Deposit
from flask_paycheckout.sandbox.deposits.transitions import NoSuchCheckout, pick
from flask_paycheckout.sandbox.disbursements.tables import FAILED, Disbursement
from flask_paycheckout.sandbox.fiat_disbursements.rules import disburse_v2
from flask_paycheckout.sandbox.fiat_disbursements.schemas import ITEMS, FiatPaymentV2, NewFiatDisbursementsV2
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, redeliver
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.field_types import Choice
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_amount, optional_text
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import advance_clock
from flask_paycheckout.sandbox.world.transitions import NotPossible

_AMOUNT, _CURRENCY = Decimal("12.50"), "USD"


@dataclass(frozen=True)
class Wanted:
    """What a tester asks for beside the event's name. Without `id`, the event begins with something new."""

    id: str | None
    account: str | None
    amount: Decimal | None
    currency: str | None
    payment_method: str | None


def trigger(body: dict[str, Any]) -> dict[str, Any]:
    """Cause an event, and return what it happened to.

    :raises FieldError: the event does not exist, or does not take one of the fields.
    :raises NotPossible: the state of the checkout or disbursement does not allow it.
    """
    event = Choice(tuple(EVENTS)).read("event", body.get("event"))
    wanted = Wanted(
        optional_text(body, "id"),
        optional_text(body, "account"),
        optional_amount(body, "amount"),
        optional_text(body, "currency"),
        optional_text(body, "paymentMethod"),
    )
    return {"event": event} | EVENTS[event](wanted)


def _checkout(then: Callable[[str], object] | None, *, picked: bool = True) -> Callable[[Wanted], dict[str, Any]]:
    """An event of a checkout: of the one that is named, else of a new one."""

    def cause(wanted: Wanted) -> dict[str, Any]:
        if not picked:
            _refuse_field("paymentMethod", wanted.payment_method, "is for events that pick one; leave it out")
        checkout_id = _named_checkout(wanted)
        if checkout_id is None:
            checkout_id = _make_checkout(wanted, pick_too=picked)
        elif picked:
            _pick(checkout_id, wanted.payment_method)
        if then is not None:
            then(checkout_id)
        return _tell_checkout(checkout_id)

    return cause


def _named_checkout(wanted: Wanted) -> str | None:
    if wanted.id is not None:
        for name in ("account", "amount", "currency"):
            _refuse_field(name, getattr(wanted, name), "is for a new checkout; leave it out, or leave out the id")
    return wanted.id


def _refuse_field(name: str, value: object, why: str) -> None:
    if value is not None:
        raise FieldError(f"{name} {why}.")


def _make_checkout(wanted: Wanted, *, pick_too: bool) -> str:
    with transaction() as session:
        account = _account_of(session, wanted)
        if not account.checkout_enabled:
            raise NotPossible("the account may not create checkouts")
        asked = NewCheckout(wanted.currency or _CURRENCY, wanted.amount or _AMOUNT)
        checkout_id = store_checkout(session, account.user_id, requested_amounts(asked))
        if pick_too:
            # Together, so that a method that cannot be picked leaves no checkout behind.
            pick(session, checkout_id, wanted.payment_method)
        return checkout_id


def _account_of(session: Session, wanted: Wanted) -> Account:
    return find_account(session, wanted.account or ACCOUNT_NAME)


def _pick(checkout_id: str, method: str | None) -> None:
    with transaction() as session:
        if find_checkout(session, checkout_id) is None:
            raise NoSuchCheckout(checkout_id)
        picked = session.get(Deposit, checkout_id) is not None
    if not picked or method is not None:
        customer.picks(checkout_id, method)


def _expire(checkout_id: str) -> None:
    """Advance the clock past the time until which the picked method may be paid."""
    with transaction() as session:
        deposit = session.get_one(Deposit, checkout_id)
        if deposit.status == COMPLETED:
            raise NotPossible("the checkout is paid")
        left = deposit.expired_at - world().clock.now()
        if left > -customer.MOMENT:
            advance_clock(session, world().clock, left + customer.MOMENT)
    run_due()


def _tell_checkout(checkout_id: str) -> dict[str, Any]:
    with transaction() as session:
        checkout, deposit = find_checkout(session, checkout_id), session.get(Deposit, checkout_id)
        if checkout is None:
            raise NoSuchCheckout(checkout_id)
        unpicked = "not_picked" if checkout.expires_at > world().clock.now() else "page_expired"
        status = unpicked if deposit is None else deposit.status
        return _told(session, checkout.user_id, checkout_id, status, page_url(checkout_id))


def _told(session: Session, user_id: str, id_: str, status: str, url: str | None = None) -> dict[str, Any]:
    return {"id": id_, "account": _name_of(session, user_id), "status": status, "url": url}


def _name_of(session: Session, user_id: str) -> str:
    return str(session.scalars(select(Account.name).where(Account.user_id == user_id)).one())


def _payout(status: str | None) -> Callable[[Wanted], dict[str, Any]]:
    """An event of a disbursement: of the one that is named, else of a new one to a saved recipient."""

    def cause(wanted: Wanted) -> dict[str, Any]:
        _refuse_field("paymentMethod", wanted.payment_method, "is for checkouts; leave it out")
        if wanted.id is not None and status is None:
            raise FieldError("id is not taken: this event makes a payout.")
        payout_id = wanted.id or _pay_out(wanted)
        if wanted.id is not None:
            for name in ("account", "amount", "currency"):
                _refuse_field(name, getattr(wanted, name), "is for a new payout; leave it out, or leave out the id")
        if status is not None:
            customer.finishes(payout_id, status)
        return _tell_disbursement(payout_id)

    return cause


def _pay_out(wanted: Wanted) -> str:
    with transaction() as session:
        account = _account_of(session, wanted)
        amount, currency = wanted.amount or _AMOUNT, wanted.currency or _CURRENCY
        return _disburse(session, account.user_id, amount, currency, None)


def _disburse(session: Session, user_id: str, amount: Decimal, currency: str, reference: str | None) -> str:
    """Ask for a fiat disbursement to the account's oldest recipient in the currency, as the merchant would."""
    found = select(Recipient.id).where(Recipient.user_id == user_id, Recipient.currency == currency)
    recipient_id = session.scalars(found.order_by(Recipient.number).limit(1)).one_or_none()
    if recipient_id is None:
        raise FieldError(f"currency {currency} is that of no saved recipient of the account.")
    payment = FiatPaymentV2(amount, recipient_id=recipient_id, reference=reference)
    try:
        batch = disburse_v2(session, user_id, NewFiatDisbursementsV2(currency, [payment]))
    except FieldError as wrong:
        raise FieldError(str(wrong).removeprefix(f"{ITEMS}[0].")) from None
    return batch.disburse_data[0].disbursement_id


def _refund(wanted: Wanted) -> dict[str, Any]:
    """Ask for a disbursement of what a customer paid; its reference is `refund-` and the checkout's id."""
    for name in ("account", "currency", "payment_method"):
        field = "paymentMethod" if name == "payment_method" else name
        _refuse_field(field, getattr(wanted, name), "is that of the checkout; leave it out")
    if wanted.id is None:
        raise FieldError("id is required: that of the paid checkout.")
    with transaction() as session:
        if find_checkout(session, wanted.id) is None:
            raise NoSuchCheckout(wanted.id)
        deposit = session.get(Deposit, wanted.id)
        if deposit is None or deposit.status != COMPLETED:
            raise NotPossible("the checkout is not paid")
        amount = wanted.amount or deposit.input_amount
        if amount > deposit.input_amount:
            raise FieldError(f"amount is more than the {deposit.input_amount:f} that the customer paid.")
        reference = f"refund-{deposit.id}"
        used = select(Disbursement.id).where(
            Disbursement.user_id == deposit.user_id, Disbursement.reference == reference
        )
        if session.scalars(used.limit(1)).one_or_none() is not None:
            raise NotPossible("the checkout was refunded already")
        refund = _disburse(session, deposit.user_id, amount, deposit.input_currency, reference)
    return _tell_disbursement(refund)


def _tell_disbursement(disbursement_id: str) -> dict[str, Any]:
    with transaction() as session:
        made = session.scalars(select(Disbursement).where(Disbursement.id == disbursement_id)).one()
        return _told(session, made.user_id, made.id, made.status)


def _webhook(wanted: Wanted) -> dict[str, Any]:
    """Send a webhook again: the one with the id, or the newest about the deposit or disbursement with the id."""
    for name, value in vars(wanted).items():
        if name != "id":
            _refuse_field("paymentMethod" if name == "payment_method" else name, value, "is not taken for a webhook")
    if wanted.id is None:
        raise FieldError("id is required: that of a webhook, a checkout or a disbursement.")
    with transaction() as session:
        about = select(Webhook.id).where(Webhook.order_id == wanted.id)
        newest = session.scalars(about.order_by(Webhook.created_at.desc(), Webhook.id.desc()).limit(1)).one_or_none()
        webhook_id = newest or wanted.id
        if not redeliver(session, webhook_id):
            raise CallRefused(404, "webhook", "does not exist", "GET /_sandbox/webhooks lists them.")
    run_due()
    with transaction() as session:
        shown = describe_webhook(session, webhook_id)
    return {"id": webhook_id, "account": shown["account"], "status": shown["state"], "url": None}


EVENTS: dict[str, Callable[[Wanted], dict[str, Any]]] = {
    "checkout": _checkout(None, picked=False),
    "abandoned": _checkout(customer.picks_nothing, picked=False),
    "picked": _checkout(None),
    "paid": _checkout(customer.pays_what_was_picked),
    "underpaid": _checkout(customer.pays_less),
    "overpaid": _checkout(customer.pays_more),
    "paid-late": _checkout(customer.pays_late),
    "failed": _checkout(customer.fails),
    "expired": _checkout(_expire),
    "payout": _payout(None),
    "payout-completed": _payout(COMPLETED),
    "payout-failed": _payout(FAILED),
    "refund": _refund,
    "webhook": _webhook,
}
"""What causes each event, by its name."""
