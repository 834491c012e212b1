"""Endpoints of quotes and payments below `/v2/payment` (deprecated); the list also has the path `/v2/payments`."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from flask import Blueprint
from msgspec.structs import asdict
from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.disbursements.addresses import check_address, sending_wallet
from flask_paycheckout.sandbox.payments.quotes import (
    TOTAL_PERCENTAGE,
    Exchange,
    exchange,
    in_currency,
    is_within_daily_limit,
)
from flask_paycheckout.sandbox.payments.schemas import (
    DetailedPayment,
    NewPayment,
    PaymentQuery,
    PaymentRecord,
    PaymentSender,
    Quote,
    QuoteQuery,
    represent,
    represent_detail,
)
from flask_paycheckout.sandbox.payments.tables import Payment, progress_due
from flask_paycheckout.sandbox.recipients.endpoints import find_recipient
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.envelope import Unusable, unspecified_refusal
from flask_paycheckout.sandbox.wire.paging import Page, is_between, is_like, made_by, page_of
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.money import Token
from flask_paycheckout.sandbox.world.settings import derived, new_id
from flask_paycheckout.sandbox.world.transitions import PENDING, note

LIFETIME = timedelta(hours=24)
"""Time from a payment's creation to its expiredDate."""

# The columns of a payment that are attributes of the exchange, and the fields that are kept of its recipient.
_OF_EXCHANGE = (
    *("payment_type", "input_currency", "output_currency", "output_amount", "output_amount_exact", "cents"),
    *("exchange_fees", "platform_fees"),
)
_OF_RECEIVER = (
    *("id", "name", "email", "account_number", "bank_name", "ifsc", "ach_number", "fedwire_number", "iban_number"),
)

payments = Blueprint("payments", __name__)


@payments.get("/v2/payment/quote")
@operation(client_id_alone=True, deprecated=True)
def quote_payment(session: Session, account: Account, query: QuoteQuery) -> Quote:
    """Quote an amount of crypto in a fiat currency (deprecated).

    With `withLimit=true` the client id alone is enough, so that a page in a browser can ask, and `status` says whether
    the payment would fit into the account's daily limit.
    """
    conversion = exchange("amount", query.amount, query.input_currency, query.output_currency)
    by_default = assumption("quote_without_limit_flag") == "limited"
    looks_at_limit = by_default if query.with_limit is None else query.with_limit
    is_within_limit = not looks_at_limit or _fits_into_today(session, account, conversion)
    return Quote.of(
        conversion,
        **in_currency(conversion),
        status=is_within_limit,
        coin=conversion.token.id,
        total_fee_percentage=TOTAL_PERCENTAGE,
        total_received_amount_in_currency=conversion.output_amount,
        payout_wallet=_payout_wallet(account.user_id, conversion.token),
    )


def _fits_into_today(session: Session, account: Account, conversion: Exchange) -> bool:
    fits = is_within_daily_limit(session, account.user_id, conversion)
    if not fits and assumption("quote_above_daily_limit") == "refused":
        raise unspecified_refusal(400, "The amount is above what is left of the daily limit.")
    return fits


@payments.get("/v2/payments")
@payments.get("/v2/payment", endpoint="list_payments_at_payment")
@operation(deprecated=True)
def list_payments(session: Session, account: Account, query: PaymentQuery) -> Page[PaymentRecord]:
    """List payments, all or those that the filters let through (deprecated)."""
    progress_due(session)
    return page_of(made_by(session, Payment, account), query, _is_wanted, partial(map, represent))


def _is_wanted(payment: Payment, query: PaymentQuery) -> bool:
    names = [person[name].casefold() for person in (payment.sender, payment.receiver) for name in ("name", "email")]
    return (
        query.status in {None, payment.status}
        and is_like(payment.reason, query.reason)
        and is_like(payment.organization_id, query.organization_id)
        and is_like(payment.organization_name, query.organization_name)
        and is_like(payment.blockchain, query.blockchain)
        and is_like(payment.receiver["name"], query.receiver_name)
        and is_between(payment.input_amount, query.min_input_amount, query.max_input_amount)
        and is_between(payment.output_amount, query.min_output_amount, query.max_output_amount)
        and any((query.search or "").casefold() in name for name in names)
    )


@payments.get("/v2/payment/detail/<payment_id>")
@operation(deprecated=True)
def read_payment(session: Session, account: Account, payment_id: str) -> DetailedPayment:
    """Read one payment with its history (deprecated)."""
    progress_due(session)
    payment = session.scalar(select(Payment).where(Payment.id == payment_id, Payment.user_id == account.user_id))
    if payment is None:
        raise unspecified_refusal("payment_not_found", "Payment not found")
    return represent_detail(session, payment)


@payments.post("/v2/payment")
@operation(code=201, deprecated=True, message="Payment created successfully")
def create_payment(session: Session, account: Account, sent: NewPayment) -> DetailedPayment:
    """Pay a recipient in fiat money with crypto from a wallet (deprecated)."""
    return represent_detail(session, store_payment(session, account.user_id, sent))


def store_payment(session: Session, user_id: str, sent: NewPayment) -> Payment:
    """Store a payment. :raises Refusal: it is invalid."""
    conversion = exchange("inputAmount", sent.input_amount, sent.input_currency, sent.output_currency, buys=True)
    check_address("walletAddress", sent.wallet_address, conversion.token.blockchain_type)
    receiver = find_recipient(session, user_id, sent.receiver_id)
    if receiver is None:
        raise Unusable("receiverId is no recipient; GET /v1/recipient lists them.")
    payment = _payment(session, sent, conversion, receiver)
    session.add(payment)
    network = "" if sent.us_network is None else f", by {sent.us_network}"
    text = f"{payment.input_amount:f} {payment.input_currency} for {payment.output_currency}{network}."
    note(session, payment, "Signed by Payee", text)
    return payment


def _payment(session: Session, sent: NewPayment, conversion: Exchange, receiver: Recipient) -> Payment:
    account, now = session.get_one(Account, receiver.user_id), current_time()
    # A sender has the same id in all payments of an account.
    sender_id = derived(f"sender:{account.user_id}:{sent.sender_email.casefold()}")
    return Payment(
        id=new_id(session),
        user_id=account.user_id,
        organization_id=account.organization_id,
        organization_name=account.organization_name,
        sender=asdict(PaymentSender(sender_id, sent.sender_name, sent.sender_email, sent.wallet_address)),
        receiver={name: getattr(receiver, name) for name in _OF_RECEIVER},
        **{name: getattr(conversion, name) for name in _OF_EXCHANGE},
        input_amount=conversion.amount,
        reason=sent.reason,
        description=sent.description,
        blockchain=conversion.token.network,
        payout_wallet=_payout_wallet(account.user_id, conversion.token),
        status=PENDING,
        created_at=now,
        updated_at=now,
        expired_at=now + LIFETIME,
    )


def _payout_wallet(user_id: str, token: Token) -> str:
    """The wallet that the sender pays into; it is derived, so nobody has its key."""
    return sending_wallet(f"payout:{user_id}", token.blockchain_type)
