"""Requests and records of fiat disbursements; each operation shows the fields that the interface lists for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.batches import MAX_ITEMS, group_of
from flask_paycheckout.sandbox.disbursements.history import histories_of
from flask_paycheckout.sandbox.disbursements.schemas import Activity, represent_history, represents
from flask_paycheckout.sandbox.disbursements.tables import (
    FIAT,
    MAX_NOTE,
    MAX_REFERENCE,
    STATUSES,
    Disbursement,
    DisbursementActivity,
)
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer, FiatMethod
from flask_paycheckout.sandbox.wire.field_types import (
    Amount,
    Choice,
    FiatCode,
    FreeText,
    Nested,
    NestedList,
    Note,
    Text,
)
from flask_paycheckout.sandbox.wire.paging import PageQuery
from flask_paycheckout.sandbox.wire.schemas import Record, Timestamp

ITEMS = "disburseData"
"""The name of the list of items in both request bodies."""


@dataclass(frozen=True)
class FiatPaymentV1:
    """An item of the first version: a saved recipient, and the item's own currency."""

    currency: Annotated[str, FiatCode()]
    recipient_id: Annotated[str, Text()]
    amount: Annotated[Decimal, Amount()]
    reference: Annotated[str | None, Text(MAX_REFERENCE)] = None
    note: Annotated[str | None, Note(MAX_NOTE)] = None


@dataclass(frozen=True)
class NewFiatDisbursementsV1:
    """The body of `POST /v1/disbursement/fiat`."""

    disburse_data: Annotated[list[FiatPaymentV1], NestedList(FiatPaymentV1, MAX_ITEMS)]


@dataclass(frozen=True)
class GivenBank:
    """The bank account of a recipient that is given in the request."""

    bank_name: Annotated[str, FreeText()]
    account_name: Annotated[str, FreeText()]
    account_number: Annotated[str, Text()]
    bank_code: Annotated[str, Text()]


@dataclass(frozen=True)
class GivenRecipient:
    """A recipient that is given in the request and not saved."""

    bank: Annotated[GivenBank, Nested(GivenBank)]
    email: Annotated[str | None, Text()] = None
    name: Annotated[str | None, FreeText()] = None


@dataclass(frozen=True)
class FiatPaymentV2:
    """An item of the second version: a saved recipient or a given one."""

    amount: Annotated[Decimal, Amount()]
    recipient_id: Annotated[str | None, Text()] = None
    recipient: Annotated[GivenRecipient | None, Nested(GivenRecipient)] = None
    reference: Annotated[str | None, Text(MAX_REFERENCE)] = None
    note: Annotated[str | None, Note(MAX_NOTE)] = None


@dataclass(frozen=True)
class NewFiatDisbursementsV2:
    """The body of `POST /v2/disbursement/fiat`."""

    currency: Annotated[str, FiatCode()]
    disburse_data: Annotated[list[FiatPaymentV2], NestedList(FiatPaymentV2, MAX_ITEMS)]


@dataclass(frozen=True)
class FiatMethodQuery:
    """The query of the list of payment methods."""

    currency: Annotated[str | None, FiatCode()] = None


@dataclass(frozen=True)
class FiatListQuery(PageQuery):
    """The query of the list of disbursements; filters are combined with AND."""

    disbursement_id: Annotated[str | None, Text()] = None
    status: Annotated[str | None, Choice(STATUSES)] = None
    currency: Annotated[str | None, FiatCode()] = None


class FiatPaymentMethod(Record, frozen=True):
    """A bank that disbursements can be sent to."""

    currency: str
    bank_code: str
    bank_name: str
    min_amount: Decimal
    max_amount: Decimal
    fee_flat: Decimal
    fee_percentage: Decimal


class PaidBank(Record, frozen=True):
    """The bank account that was paid."""

    bank_name: str
    account_name: str
    bank_code: str
    currency: str
    account_number: str | None = None
    country: str | None = None


class PaidRecipient(Record, frozen=True):
    """The recipient who was paid; without an id when given in the request."""

    bank: PaidBank
    recipient_id: str | None = None
    email: str | None = None
    name: str | None = None


class FiatDisbursement(Record, frozen=True):
    """A fiat disbursement in lists and reads."""

    disbursement_id: str
    recipient: PaidRecipient
    amount: Decimal
    currency: str
    fee_amount: Decimal
    fee_percentage: Decimal
    status: str
    created_by: str
    activity_history: list[Activity]
    created_at: Timestamp
    updated_at: Timestamp
    group_id: str | None = None
    reference: str | None = None
    note: str | None = None


class NoRecord(Record, frozen=True):
    """The answer of a list that shows one record, when there is none."""


class FiatItemV1(Record, frozen=True):
    """An item in the answer of the first version of the create."""

    disbursement_id: str
    recipient: PaidRecipient
    currency: str
    amount: Decimal
    status: str
    fee_amount: Decimal
    fee_percentage: Decimal
    reference: str | None = None
    note: str | None = None


class FiatItemV2(Record, frozen=True):
    """An item in the answer of the second version of the create."""

    disbursement_id: str
    group_id: str
    recipient: PaidRecipient
    currency: str
    amount: Decimal
    status: str
    fee_amount: Decimal
    fee_percentage: Decimal
    activity_history: list[Activity]
    reference: str | None = None


class CurrencyTotal(Record, frozen=True):
    """The sum of one currency."""

    currency: str
    total_amount: Decimal


class FiatBatchV1(Record, frozen=True):
    """The answer of the first version. Its items may be in several currencies, so its sums are lists."""

    total_recipient: int
    disburse_data: list[FiatItemV1]
    sum_fees: list[CurrencyTotal]
    sum_amount: list[CurrencyTotal]


class FiatBatchV2(Record, frozen=True):
    """The answer of the second version, in one currency."""

    total_recipient: int
    disburse_data: list[FiatItemV2]
    sum_fees: Decimal
    sum_amount: Decimal


def represent_method(method: FiatMethod) -> FiatPaymentMethod:
    return FiatPaymentMethod(
        currency=method.currency,
        bank_code=method.bank_code,
        bank_name=method.bank_name,
        min_amount=method.min_amount,
        max_amount=method.max_amount,
        fee_flat=method.fees.flat,
        fee_percentage=method.fees.percentage,
    )


@represents(FIAT)
def represent_fiat(session: Session, disbursements: Sequence[Disbursement]) -> list[FiatDisbursement]:
    """Convert disbursements to records, with two queries for all of them."""
    transfers, histories = transfers_of(session, disbursements), histories_of(session, disbursements)
    return [_full(made, transfers[made.id], histories[made.id]) for made in disbursements]


def transfers_of(session: Session, disbursements: Iterable[Disbursement]) -> dict[str, BankTransfer]:
    ids = [disbursement.id for disbursement in disbursements]
    rows = session.scalars(select(BankTransfer).where(BankTransfer.disbursement_id.in_(ids)))
    return {transfer.disbursement_id: transfer for transfer in rows}


def _full(made: Disbursement, transfer: BankTransfer, history: Iterable[DisbursementActivity]) -> FiatDisbursement:
    return FiatDisbursement(
        disbursement_id=made.id,
        group_id=made.group_id,
        recipient=_recipient(made, transfer),
        amount=made.amount,
        currency=made.currency,
        fee_amount=made.fee_amount,
        fee_percentage=made.fee_percentage,
        status=made.status,
        created_by=made.user_id,
        activity_history=represent_history(history),
        reference=made.reference,
        note=made.note,
        created_at=made.created_at,
        updated_at=made.updated_at,
    )


def represent_item_v1(made: Disbursement, transfer: BankTransfer) -> FiatItemV1:
    return FiatItemV1(
        disbursement_id=made.id,
        recipient=_recipient(made, transfer),
        currency=made.currency,
        amount=made.amount,
        status=made.status,
        fee_amount=made.fee_amount,
        fee_percentage=made.fee_percentage,
        reference=made.reference,
        note=made.note,
    )


def represent_item_v2(
    made: Disbursement, transfer: BankTransfer, history: Iterable[DisbursementActivity]
) -> FiatItemV2:
    return FiatItemV2(
        disbursement_id=made.id,
        group_id=group_of(made),
        recipient=_recipient(made, transfer),
        currency=made.currency,
        amount=made.amount,
        status=made.status,
        fee_amount=made.fee_amount,
        fee_percentage=made.fee_percentage,
        activity_history=represent_history(history),
        reference=made.reference,
    )


def _recipient(made: Disbursement, transfer: BankTransfer) -> PaidRecipient:
    bank = PaidBank(
        bank_name=transfer.bank_name,
        account_name=transfer.account_name,
        account_number=transfer.account_number,
        bank_code=transfer.bank_code,
        currency=made.currency,
        country=transfer.country,
    )
    return PaidRecipient(bank, transfer.recipient_id, transfer.email, transfer.name)
