"""Endpoints of fiat disbursements: payment methods, both versions of the create, the list, and one record."""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Blueprint
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import check_access
from flask_paycheckout.sandbox.disbursements.tables import FIAT, Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.fiat_disbursements.rules import disburse_v1, disburse_v2
from flask_paycheckout.sandbox.fiat_disbursements.schemas import (
    FiatBatchV1,
    FiatBatchV2,
    FiatDisbursement,
    FiatListQuery,
    FiatMethodQuery,
    FiatPaymentMethod,
    NewFiatDisbursementsV1,
    NewFiatDisbursementsV2,
    NoRecord,
    represent_fiat,
    represent_method,
)
from flask_paycheckout.sandbox.fiat_disbursements.tables import methods_of
from flask_paycheckout.sandbox.wire.envelope import Envelope, success, unspecified_refusal
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body, read_query
from flask_paycheckout.sandbox.wire.paging import Ordering, Page, page_of, text_filters
from flask_paycheckout.sandbox.wire.request_log import in_one_transaction
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import transaction

ORDERING = Ordering(Disbursement.created_at, Disbursement.updated_at, Disbursement.number)


def list_fiat(
    session: Session, user_id: str, query: FiatListQuery
) -> Page[FiatDisbursement] | list[FiatDisbursement] | FiatDisbursement | NoRecord:
    """One page of the list in the form that the unknown `fiat_list` names; an empty object for no record."""
    page: Page[Any] = page_of(session, _wanted(user_id, query), ORDERING, query, lambda row: row)
    # All at once, because converting a row alone takes two queries.
    docs = represent_fiat(session, page.docs)
    match assumption("fiat_list"):
        case "array":
            return docs
        case "record":
            return docs[0] if docs else NoRecord()
    return msgspec.structs.replace(page, docs=docs)


def _wanted(user_id: str, query: FiatListQuery) -> Select[Disbursement]:
    wanted = select(Disbursement).where(Disbursement.user_id == user_id, Disbursement.kind == FIAT)
    filters = ((Disbursement.currency, query.currency), (Disbursement.status, query.status))
    wanted = wanted.where(*(column == value for column, value in filters if value is not None))
    return wanted.where(*text_filters([(Disbursement.id, query.disbursement_id)]))


def find_fiat(session: Session, user_id: str, disbursement_id: str) -> FiatDisbursement | None:
    found = session.scalars(_wanted(user_id, FiatListQuery()).where(Disbursement.id == disbursement_id)).all()
    return next(iter(represent_fiat(session, found)), None)


fiat_disbursements = Blueprint("fiat_disbursements", __name__)

_CREATED = "Disbursement created successfully"


@fiat_disbursements.get("/v1/disbursement/fiat/payment-method")
@operation(query=FiatMethodQuery, credentials=Credentials.ACCESS_TOKEN)
def list_fiat_methods() -> Envelope[list[FiatPaymentMethod]]:
    """The banks that can be paid, with limits and fees."""
    with transaction() as session:
        check_access(session)
    wanted = read_query(FiatMethodQuery)
    return success([represent_method(method) for method in methods_of(wanted.currency)])


@fiat_disbursements.post("/v1/disbursement/fiat")
@operation(body=NewFiatDisbursementsV1, credentials=Credentials.ACCESS_TOKEN, codes=(200, 201), deprecated=True)
@in_one_transaction
def create_fiat_v1(session: Session) -> Envelope[FiatBatchV1]:
    """Pay saved recipients, all of them or none (deprecated: the second version replaces it)."""
    account = check_access(session)
    batch = disburse_v1(session, account.user_id, read_body(NewFiatDisbursementsV1))
    return success(batch, _CREATED, int(assumption("disbursement_status_code")))


@fiat_disbursements.post("/v2/disbursement/fiat")
@operation(body=NewFiatDisbursementsV2, credentials=Credentials.ACCESS_TOKEN, codes=(200, 201))
@in_one_transaction
def create_fiat_v2(session: Session) -> Envelope[FiatBatchV2]:
    """Pay saved or given recipients in one currency, all of them or none."""
    account = check_access(session)
    batch = disburse_v2(session, account.user_id, read_body(NewFiatDisbursementsV2))
    return success(batch, _CREATED, int(assumption("disbursement_status_code")))


@fiat_disbursements.get("/v1/disbursement/fiat")
@operation(
    query=FiatListQuery,
    credentials=Credentials.SIGNATURE,
    data_of=(
        "fiat_list",
        {
            "paged": Page[FiatDisbursement],
            "array": list[FiatDisbursement],
            "record": FiatDisbursement | NoRecord,
        },
    ),
)
@in_one_transaction
def list_fiat_disbursements(session: Session) -> Envelope[object]:
    """The account's fiat disbursements."""
    account = check_access(session)
    query = read_query(FiatListQuery)
    settle_due(session)
    return success(list_fiat(session, account.user_id, query))


@fiat_disbursements.get("/v1/disbursement/fiat/<disbursement_id>")
@operation(credentials=Credentials.SIGNATURE)
def read_fiat_disbursement(disbursement_id: str) -> Envelope[FiatDisbursement]:
    """One fiat disbursement with its history."""
    with transaction() as session:
        account = check_access(session)
        settle_due(session)
        found = find_fiat(session, account.user_id, disbursement_id)
    if found is None:
        raise unspecified_refusal(int(assumption("disbursement_not_found")), "Disbursement not found")
    return success(found)
