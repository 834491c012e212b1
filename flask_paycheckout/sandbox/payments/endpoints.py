"""Endpoints of quotes and payments below `/v2/payment` (deprecated); the list also has the path `/v2/payments`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import ROUND_CEILING, Decimal

from flask import Blueprint
from sqlalchemy import ColumnElement, Select, false, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.auth.tables import User
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
    Quote,
    QuoteQuery,
    represent,
    represent_detail,
)
from flask_paycheckout.sandbox.payments.tables import Payment, progress_due, sortable
from flask_paycheckout.sandbox.recipients.endpoints import find_recipient
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.envelope import Unusable, unspecified_refusal
from flask_paycheckout.sandbox.wire.paging import Page, page_of, text_filters
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.money import Token
from flask_paycheckout.sandbox.world.settings import derived, new_id
from flask_paycheckout.sandbox.world.transitions import PENDING, note

LIFETIME = timedelta(hours=24)
"""Time from a payment's creation to its expiredDate."""

# The columns of a payment that are attributes of its recipient, of the request and of the exchange.
_OF_BANK = ("account_number", "bank_name", "ifsc", "ach_number", "fedwire_number", "iban_number")
_AS_SENT = ("sender_name", "sender_email", "wallet_address", "us_network", "reason", "description")
_OF_EXCHANGE = ("payment_type", "input_currency", "output_currency", "output_amount", "output_amount_exact", "cents")

payments = Blueprint("payments", __name__)


@payments.get("/v2/payment/quote")
@operation(client_id_alone=True, deprecated=True)
def quote_payment(session: Session, account: Account, query: QuoteQuery) -> Quote:
    """Quote an amount of crypto in a fiat currency (deprecated).

    With `withLimit=true` the client id alone is enough, so that a page in a browser can ask, and `status` says whether
    the payment would fit into the account's daily limit.
    """
    made = exchange("amount", query.amount, query.input_currency, query.output_currency)
    by_default = assumption("quote_without_limit_flag") == "limited"
    looks_at_limit = by_default if query.with_limit is None else query.with_limit
    is_within_limit = not looks_at_limit or _fits_into_today(session, account, made)
    return Quote.of(
        made,
        **in_currency(made),
        status=is_within_limit,
        coin=made.token.id,
        total_fee_percentage=TOTAL_PERCENTAGE,
        total_received_amount_in_currency=made.output_amount,
        payout_wallet=_payout_wallet(account.user_id, made.token),
    )


def _fits_into_today(session: Session, account: Account, made: Exchange) -> bool:
    fits = is_within_daily_limit(session, account.user_id, made)
    if not fits and assumption("quote_above_daily_limit") == "refused":
        raise unspecified_refusal(400, "The amount is above what is left of the daily limit.")
    return fits


@payments.get("/v2/payments")
@payments.get("/v2/payment", endpoint="list_payments_at_payment")
@operation(deprecated=True)
def list_payments(session: Session, account: Account, query: PaymentQuery) -> Page[PaymentRecord]:
    """List payments, all or those that the filters let through (deprecated)."""
    progress_due(session)
    return page_of(session, _selection(account.user_id, query), Payment, query, represent)


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
    """Store a payment. :raises Refusal: it is wrong."""
    made = exchange("inputAmount", sent.input_amount, sent.input_currency, sent.output_currency, buys=True)
    check_address("walletAddress", sent.wallet_address, made.token.blockchain_type)
    receiver = find_recipient(session, user_id, sent.receiver_id)
    if receiver is None:
        raise Unusable("receiverId is no recipient; GET /v1/recipient lists them.")
    payment = _payment(session, sent, made, receiver)
    session.add(payment)
    network = "" if payment.us_network is None else f", by {payment.us_network}"
    text = f"{payment.input_amount:f} {payment.input_currency} for {payment.output_currency}{network}."
    note(session, payment, "Signed by Payee", text)
    return payment


def _payment(session: Session, sent: NewPayment, made: Exchange, receiver: Recipient) -> Payment:
    user, now = session.get_one(User, receiver.user_id), current_time()
    people = sent.sender_name, sent.sender_email, receiver.name, receiver.email
    return Payment(
        id=new_id(session),
        user_id=user.id,
        organization_id=user.organization_id,
        organization_name=user.organization_name,
        # A sender has the same id in all payments of an account.
        sender_id=derived(f"sender:{user.id}:{sent.sender_email.casefold()}"),
        receiver_id=receiver.id,
        receiver_name=receiver.name,
        receiver_key=receiver.name.casefold(),
        receiver_email=receiver.email,
        **{name: getattr(receiver, name) for name in _OF_BANK},
        **{name: getattr(sent, name) for name in _AS_SENT},
        **{name: getattr(made, name) for name in _OF_EXCHANGE},
        input_amount=made.amount,
        input_key=sortable(made.amount),
        exchange_fees=made.exchange_fee,
        platform_fees=made.platform_fee,
        output_key=sortable(made.output_amount),
        blockchain=made.token.network,
        payout_wallet=_payout_wallet(user.id, made.token),
        status=PENDING,
        created_at=now,
        updated_at=now,
        expired_at=now + LIFETIME,
        # Joined by line breaks, which no search text contains, so that no match spans two texts.
        text_key="\n".join(people).casefold(),
    )


def _payout_wallet(user_id: str, token: Token) -> str:
    """The wallet that the sender pays into; it is derived, so nobody has its key."""
    return sending_wallet(f"payout:{user_id}", token.blockchain_type)


def _selection(user_id: str, query: PaymentQuery) -> Select[Payment]:
    """The statement that selects the payments of a list."""
    wanted = select(Payment).where(Payment.user_id == user_id)
    if query.status is not None:
        wanted = wanted.where(Payment.status == query.status)
    texts = (
        (Payment.reason, query.reason),
        (Payment.organization_id, query.organization_id),
        (Payment.organization_name, query.organization_name),
        (Payment.blockchain, query.blockchain),
        (Payment.receiver_key, None if query.receiver_name is None else query.receiver_name.casefold()),
    )
    wanted = wanted.where(*text_filters(texts))
    wanted = wanted.where(*_between(Payment.input_key, query.min_input_amount, query.max_input_amount))
    wanted = wanted.where(*_between(Payment.output_key, query.min_output_amount, query.max_output_amount))
    if query.search is None:
        return wanted
    return wanted.where(Payment.text_key.contains(query.search.casefold(), autoescape=True))


def _between(
    key: InstrumentedAttribute[str], minimum: Decimal | None, maximum: Decimal | None
) -> Iterator[ColumnElement[bool]]:
    # Amounts are positive, so a negative bound includes all of them or none.
    if minimum is not None and minimum > 0:
        yield key >= sortable(minimum, ROUND_CEILING)
    if maximum is not None:
        yield false() if maximum < 0 else key <= sortable(maximum)
