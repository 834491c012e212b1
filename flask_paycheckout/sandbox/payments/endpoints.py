"""Endpoints of quotes and payments below `/v2/payment` (deprecated); the list also has the path `/v2/payments`."""

from __future__ import annotations

from flask import Blueprint, request
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import check_access, check_client_id
from flask_paycheckout.sandbox.auth.tables import Caller
from flask_paycheckout.sandbox.payments.quotes import Exchange, exchange, is_within_daily_limit
from flask_paycheckout.sandbox.payments.rules import get_payment, make_payment, payout_wallet, selection
from flask_paycheckout.sandbox.payments.schemas import (
    DetailedPayment,
    NewPayment,
    PaymentQuery,
    PaymentRecord,
    Quote,
    QuoteQuery,
    represent,
    represent_detail,
    represent_quote,
)
from flask_paycheckout.sandbox.payments.tables import ORDERING
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.wire.envelope import Envelope, success, unspecified_refusal
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body, read_query
from flask_paycheckout.sandbox.wire.paging import Page, page_of
from flask_paycheckout.sandbox.wire.request_log import in_one_transaction
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import transaction

payments = Blueprint("payments", __name__)


@payments.get("/v2/payment/quote")
@operation(credentials=Credentials.SIGNATURE, client_id_alone=True, query=QuoteQuery, deprecated=True)
def quote_payment() -> Envelope[Quote]:
    """Quote an amount of crypto in a fiat currency (deprecated).

    With `withLimit=true` the client id alone is enough, so that a page in a browser can ask, and `status` says whether
    the payment would fit into the account's daily limit.
    """
    with transaction() as session:
        account = _quote_caller(session)
        query = read_query(QuoteQuery)
        made = exchange("amount", query.amount, query.input_currency, query.output_currency)
        is_within_limit = not _looks_at_limit(query) or _fits_into_today(session, account, made)
    wallet = payout_wallet(account.user_id, made.token)
    return success(represent_quote(made, wallet, is_within_limit=is_within_limit))


def _quote_caller(session: Session) -> Caller:
    """Check the caller: with `withLimit=true`, the client id alone can be enough."""
    proof = {"X-Signature", "Authorization"} & set(request.headers.keys())
    with_limit = request.args.get("withLimit") == "true" and assumption("quote_credentials") == "client_id"
    if with_limit and not proof and assumption("signature") == "on":
        return check_client_id(session)
    return check_access(session)


def _looks_at_limit(query: QuoteQuery) -> bool:
    by_default = assumption("quote_without_limit_flag") == "limited"
    return by_default if query.with_limit is None else query.with_limit


def _fits_into_today(session: Session, account: Caller, made: Exchange) -> bool:
    fits = is_within_daily_limit(session, account.user_id, made.token, made.amount)
    if not fits and assumption("quote_above_daily_limit") == "refused":
        raise unspecified_refusal(400, "The amount is above what is left of the daily limit.")
    return fits


@payments.get("/v2/payments")
@payments.get("/v2/payment")
@operation(credentials=Credentials.SIGNATURE, query=PaymentQuery, deprecated=True)
@in_one_transaction
def list_payments(session: Session) -> Envelope[Page[PaymentRecord]]:
    """List payments, all or those that the filters let through (deprecated)."""
    account = check_access(session)
    query = read_query(PaymentQuery)
    progress_due(session)
    return success(page_of(session, selection(account.user_id, query), ORDERING, query, represent))


@payments.get("/v2/payment/detail/<payment_id>")
@operation(credentials=Credentials.SIGNATURE, deprecated=True)
@in_one_transaction
def read_payment(session: Session, payment_id: str) -> Envelope[DetailedPayment]:
    """Read one payment with its history (deprecated)."""
    account = check_access(session)
    progress_due(session)
    return success(represent_detail(session, get_payment(session, account.user_id, payment_id)))


@payments.post("/v2/payment")
@operation(credentials=Credentials.SIGNATURE, body=NewPayment, codes=(201,), deprecated=True)
@in_one_transaction
def create_payment(session: Session) -> Envelope[DetailedPayment]:
    """Pay a recipient in fiat money with crypto from a wallet (deprecated)."""
    account = check_access(session)
    payment = make_payment(session, account.user_id, read_body(NewPayment))
    return success(represent_detail(session, payment), "Payment created successfully", 201)
