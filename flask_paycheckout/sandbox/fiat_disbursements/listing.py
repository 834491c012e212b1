"""Reading an account's fiat disbursements, one of them or a filtered list in pages."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.tables import FIAT, Disbursement
from flask_paycheckout.sandbox.fiat_disbursements.schemas import (
    FiatDisbursement,
    FiatListQuery,
    NoRecord,
    represent_fiat,
)
from flask_paycheckout.sandbox.wire.filters import text_filters
from flask_paycheckout.sandbox.wire.paging import Ordering, Page, page_of
from flask_paycheckout.sandbox.world.context import assumption

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
