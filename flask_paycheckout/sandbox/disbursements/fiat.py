"""Endpoints of fiat disbursements: payment methods, both versions of the create, the list, and one record."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.disbursements.banks import METHODS, NoMethod, payee_of, saved_recipients
from flask_paycheckout.sandbox.disbursements.batches import CREATES, check_size, fee_of, store_batch, sums_of, total
from flask_paycheckout.sandbox.disbursements.fiat_schemas import (
    ITEMS,
    CurrencyTotal,
    FiatBatchV1,
    FiatBatchV2,
    FiatDisbursement,
    FiatItemV1,
    FiatItemV2,
    FiatListQuery,
    FiatMethodQuery,
    FiatPaymentMethod,
    FiatPaymentV2,
    NewFiatDisbursementsV1,
    NewFiatDisbursementsV2,
    NoRecord,
    represent_fiat,
)
from flask_paycheckout.sandbox.disbursements.tables import FIAT, Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.wire.envelope import Refusal, Unusable, unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import in_units
from flask_paycheckout.sandbox.wire.operations import Credentials
from flask_paycheckout.sandbox.wire.paging import Page, is_like, made_by, page_of
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption

fiat_disbursements = Blueprint("fiat_disbursements", __name__)


@fiat_disbursements.get("/v1/disbursement/fiat/payment-method")
@operation(credentials=Credentials.ACCESS_TOKEN)
def list_fiat_methods(query: FiatMethodQuery) -> list[FiatPaymentMethod]:
    """The banks that can be paid, with limits and fees."""
    return [method for method in METHODS if query.currency in {None, method.currency}]


@fiat_disbursements.post("/v1/disbursement/fiat")
@operation(**CREATES, deprecated=True)
def create_fiat_v1(session: Session, account: Account, sent: NewFiatDisbursementsV1) -> FiatBatchV1:
    """Pay saved recipients, all of them or none (deprecated: the second version replaces it)."""
    payments = [
        (item.currency, FiatPaymentV2(item.amount, item.recipient_id, None, item.reference, item.note))
        for item in sent.disburse_data
    ]
    try:
        disbursements = disburse(session, account.user_id, payments, grouped=False)
    except NoMethod:
        # The interface shows this combination: the statusCode of a bad request with the name of another error.
        raise Refusal(400, "Payment method not found", "Not Found") from None
    return FiatBatchV1(
        total_recipient=len(disbursements),
        disburse_data=represent_fiat(session, disbursements, FiatItemV1),
        sum_fees=_totals(disbursements, "fee_amount"),
        sum_amount=_totals(disbursements, "amount"),
    )


@fiat_disbursements.post("/v2/disbursement/fiat")
@operation(**CREATES)
def create_fiat_v2(session: Session, account: Account, sent: NewFiatDisbursementsV2) -> FiatBatchV2:
    """Pay saved or given recipients in one currency, all of them or none."""
    payments = [(sent.currency, item) for item in sent.disburse_data]
    disbursements = disburse(session, account.user_id, payments, grouped=True)
    return FiatBatchV2(
        total_recipient=len(disbursements),
        disburse_data=represent_fiat(session, disbursements, FiatItemV2),
        **sums_of(disbursements),
    )


def disburse(
    session: Session, user_id: str, payments: Sequence[tuple[str, FiatPaymentV2]], *, grouped: bool
) -> list[Disbursement]:
    """Store payments, each in its currency, all of them or none."""
    check_size(ITEMS, payments)
    saved = saved_recipients(session, user_id, [payment.recipient_id for _, payment in payments])
    items = []
    for place, (currency, payment) in enumerate(payments):
        field = f"{ITEMS}[{place}]"
        payee, method = payee_of(saved, field, payment, currency)
        amount = in_units(f"{field}.amount", payment.amount, currency)
        if not method.min_amount <= amount <= method.max_amount:
            raise Unusable(
                f"{field}.amount must be from {method.min_amount:f} to {method.max_amount:f} {currency}"
                f" at {method.bank_name}."
            )
        item = Disbursement(
            kind=FIAT,
            user_id=user_id,
            currency=currency,
            amount=amount,
            fee_amount=fee_of(amount, currency, method.fee_percentage, method.fee_flat),
            fee_percentage=method.fee_percentage,
            reference=payment.reference,
            note=payment.note,
            **payee,
        )
        items.append(item)
    return store_batch(session, ITEMS, items, grouped=grouped)


def _totals(disbursements: Sequence[Disbursement], column: str) -> list[CurrencyTotal]:
    """The sum of a column in each currency, in the order of its first item."""
    return [
        CurrencyTotal(
            currency,
            total(getattr(disbursement, column) for disbursement in disbursements if disbursement.currency == currency),
        )
        for currency in dict.fromkeys(disbursement.currency for disbursement in disbursements)
    ]


@fiat_disbursements.get("/v1/disbursement/fiat")
@operation(
    data_of=(
        "fiat_list",
        {
            "paged": Page[FiatDisbursement],
            "array": list[FiatDisbursement],
            "record": FiatDisbursement | NoRecord,
        },
    ),
)
def list_fiat_disbursements(session: Session, account: Account, query: FiatListQuery) -> object:
    """The account's fiat disbursements, in the form that the unknown `fiat_list` names."""
    settle_due(session)
    disbursements = made_by(session, Disbursement, account)
    page = page_of(disbursements, query, _is_wanted, lambda rows: represent_fiat(session, rows, FiatDisbursement))
    match assumption("fiat_list"):
        case "array":
            return page.docs
        case "record":
            return page.docs[0] if page.docs else NoRecord()
    return page


def _is_wanted(disbursement: Disbursement, query: FiatListQuery) -> bool:
    return (
        disbursement.kind == FIAT
        and is_like(disbursement.id, query.disbursement_id)
        and query.currency in {None, disbursement.currency}
        and query.status in {None, disbursement.status}
    )


@fiat_disbursements.get("/v1/disbursement/fiat/<disbursement_id>")
@operation()
def read_fiat_disbursement(session: Session, account: Account, disbursement_id: str) -> FiatDisbursement:
    """One fiat disbursement with its history."""
    disbursement = find_fiat(session, disbursement_id, Disbursement.user_id == account.user_id)
    if disbursement is None:
        raise unspecified_refusal("disbursement_not_found", "Disbursement not found")
    return disbursement


def find_fiat(session: Session, disbursement_id: str, *conditions: ColumnElement[bool]) -> FiatDisbursement | None:
    """Find a fiat disbursement by its id, after the moves that are due; None if it does not meet the conditions."""
    settle_due(session)
    query = select(Disbursement).where(Disbursement.id == disbursement_id, Disbursement.kind == FIAT, *conditions)
    return next(iter(represent_fiat(session, session.scalars(query).all(), FiatDisbursement)), None)
