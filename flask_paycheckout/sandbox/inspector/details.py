"""The inspector's pages of one thing: a checkout, disbursement, payment or account, and one logged request."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from flask import Response
from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account, User
from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.crypto_disbursements.tables import WalletTransfer
from flask_paycheckout.sandbox.deposits.tables import Deposit, DepositActivity
from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.tables import Disbursement, DisbursementActivity
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer
from flask_paycheckout.sandbox.inspector.blueprint import MAX_ROWS, inspector, name_of, show, show_missing
from flask_paycheckout.sandbox.inspector.timelines import (
    MAX_ENTRIES,
    STATE,
    Entry,
    calls_about,
    in_order,
    states,
    webhook_attempts,
)
from flask_paycheckout.sandbox.outgoing.webhooks import webhook_url
from flask_paycheckout.sandbox.payments.tables import Payment, PaymentActivity
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import transaction

# What the four lines of the signed string end with when a request has no body.
_LINES, _NO_BODY = 4, sha256(b"").hexdigest()
_TIMESTAMP_DIGITS = 12


@inspector.get("/inspector/checkouts/<checkout_id>")
def show_checkout(checkout_id: str) -> Response:
    """Show a checkout, its deposit, and their timeline."""
    with transaction() as session:
        expire_due(session)
        checkout, deposit = session.get(Checkout, checkout_id), session.get(Deposit, checkout_id)
        if checkout is None:
            return show_missing("checkout")
        timeline = in_order(
            calls_about(session, checkout.id, f"/v1/deposit/{deposit.reference}" if deposit else None),
            [Entry(checkout.created_at, STATE, "Checkout created", "open")],
            _expiry(checkout),
            states(session, DepositActivity, DepositActivity.deposit_id == checkout.id),
            webhook_attempts(session, checkout.id),
        )
        account = name_of(session, checkout.user_id)
    return show("checkout", checkout=checkout, deposit=deposit, account=account, timeline=timeline, most=MAX_ENTRIES)


def _expiry(checkout: Checkout) -> list[Entry]:
    if checkout.picked_at is not None or checkout.page_is_open(world().clock.now()):
        return []
    return [Entry(checkout.expires_at, STATE, "Page closed", "abandoned", detail="No payment method was picked.")]


@inspector.get("/inspector/disbursements/<disbursement_id>")
def show_disbursement(disbursement_id: str) -> Response:
    with transaction() as session:
        settle_due(session)
        made = session.scalars(select(Disbursement).where(Disbursement.id == disbursement_id)).one_or_none()
        if made is None:
            return show_missing("disbursement")
        bank, wallet = session.get(BankTransfer, made.id), session.get(WalletTransfer, made.id)
        timeline = in_order(
            # The log truncates the answer to a large batch, perhaps before this item, but not before the group id.
            calls_about(session, made.id, group=made.group_id),
            states(session, DisbursementActivity, DisbursementActivity.disbursement_id == made.id),
            webhook_attempts(session, made.id),
        )
        account = name_of(session, made.user_id)
    return show(
        "disbursement", made=made, bank=bank, wallet=wallet, account=account, timeline=timeline, most=MAX_ENTRIES
    )


@inspector.get("/inspector/payments/<payment_id>")
def show_payment(payment_id: str) -> Response:
    """Show one of the deprecated payments and its timeline."""
    with transaction() as session:
        progress_due(session)
        made = session.scalars(select(Payment).where(Payment.id == payment_id)).one_or_none()
        if made is None:
            return show_missing("payment")
        of_payment = states(session, PaymentActivity, PaymentActivity.payment_id == made.id)
        timeline = in_order(calls_about(session, made.id), of_payment)
        account = name_of(session, made.user_id)
    return show("payment", made=made, account=account, timeline=timeline, most=MAX_ENTRIES)


@inspector.get("/inspector/accounts/<name>")
def show_account(name: str) -> Response:
    """Show an account without its secrets, and its users."""
    with transaction() as session:
        account = session.scalars(select(Account).where(Account.name == name)).one_or_none()
        if account is None:
            return show_missing("account")
        users = select(User).where(User.account_id == account.user_id).order_by(User.created_at).limit(MAX_ROWS)
        people, url = session.scalars(users).all(), webhook_url(session, account.user_id)
    return show("account", made=account, webhook_url=url, people=people)


@inspector.get("/inspector/requests/<int(max=2147483647):number>")
def show_request(number: int) -> Response:
    with transaction() as session:
        entry = session.get(LoggedRequest, number)
        if entry is None:
            return show_missing("request")
        rejection = _explain(session, entry)
    return show("request", entry=entry, rejection=rejection)


@dataclass(frozen=True)
class Rejection:
    """A refused signature: the string that the sandbox signed, and what is known about its parts."""

    signed_string: str
    client_is_known: bool
    seconds_off: int | None
    """How far the timestamp was from the clock; None when it was no number."""
    window: str
    body_was_empty: bool

    @property
    def is_late(self) -> bool:
        return self.seconds_off is None or (self.window != "off" and self.seconds_off > int(self.window))


def _explain(session: Session, entry: LoggedRequest) -> Rejection | None:
    """Explain a refused signature; None when the signature was accepted or not required."""
    lines = (entry.signed_string or "").split("\n")
    if entry.signed_string is None or len(lines) != _LINES:
        return None
    return Rejection(
        signed_string=entry.signed_string,
        client_is_known=bool(session.scalar(select(exists().where(Account.client_id == (entry.client_id or ""))))),
        seconds_off=_seconds_off(entry, lines[2]),
        window=assumption("timestamp_window"),
        body_was_empty=lines[3] == _NO_BODY,
    )


def _seconds_off(entry: LoggedRequest, timestamp: str) -> int | None:
    """Difference from the virtual clock or the machine's, whichever is nearer: the sandbox accepts both."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= _TIMESTAMP_DIGITS):
        return None
    arrived = int(entry.at.timestamp())
    clocks = (arrived, arrived - int(world().clock.offset.total_seconds()))
    return min(abs(int(timestamp) - clock) for clock in clocks)
