"""Requests and records of fiat disbursements; each operation shows the fields that the interface lists for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, TypeVar

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.batches import MAX_ITEMS
from flask_paycheckout.sandbox.disbursements.tables import STATUSES, Disbursement
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp, when, words_unless
from flask_paycheckout.sandbox.wire.field_types import (
    Amount,
    FiatCode,
    LongText,
    Request,
    Text,
    choice,
    listed,
)
from flask_paycheckout.sandbox.wire.paging import PageQuery
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.transitions import Activity as Entry, histories_of

ITEMS = "disburseData"
"""The name of the list of items in both request bodies."""


Status = Annotated[str, choice(*STATUSES)]
MadeStatus = Annotated[str, words_unless("forced_disbursement_status", "any", *STATUSES)]
"""The status of a disbursement in answers, which may be any text if any can be forced."""


class FiatPaymentV1(Request):
    """An item of the first version: a saved recipient, and the item's own currency."""

    currency: FiatCode
    recipient_id: Text
    amount: Amount
    reference: Text | None = None
    note: LongText | None = None


class NewFiatDisbursementsV1(Request):
    """The body of `POST /v1/disbursement/fiat`."""

    disburse_data: Annotated[list[FiatPaymentV1], listed(MAX_ITEMS)]


class GivenBank(Request):
    """The bank account of a recipient that is given in the request."""

    bank_name: Text
    account_name: Text
    account_number: Text
    bank_code: Text


class GivenRecipient(Request):
    """A recipient that is given in the request and not saved."""

    bank: GivenBank
    email: Text | None = None
    name: Text | None = None


class FiatPaymentV2(Request):
    """An item of the second version: a saved recipient or a given one."""

    amount: Amount
    recipient_id: Text | None = None
    recipient: GivenRecipient | None = None
    reference: Text | None = None
    note: LongText | None = None


class NewFiatDisbursementsV2(Request):
    """The body of `POST /v2/disbursement/fiat`."""

    currency: FiatCode
    disburse_data: Annotated[list[FiatPaymentV2], listed(MAX_ITEMS)]


class FiatMethodQuery(Request):
    """The query of the list of payment methods."""

    currency: FiatCode | None = None


class FiatListQuery(PageQuery):
    """The query of the list of disbursements; filters are combined with AND."""

    disbursement_id: Text | None = None
    status: Status | None = None
    currency: FiatCode | None = None


_DATE = "$date"


class Activity(Record):
    """One entry of `activityHistory`."""

    activity: str
    status: str
    description: str
    updated_at: (
        Annotated[Timestamp, when("activity_updated_at", "timestamp")]
        | Annotated[dict[str, Timestamp], when("activity_updated_at", "object")]
    )
    """The interface declares an object, but shows a time."""

    @property
    def moment(self) -> datetime:
        return self.updated_at[_DATE] if isinstance(self.updated_at, dict) else self.updated_at


def with_histories(
    session: Session, disbursements: Sequence[Disbursement]
) -> Iterator[tuple[Disbursement, list[Activity]]]:
    """Each disbursement with its history; one query for all of them."""
    histories = histories_of(session, [disbursement.id for disbursement in disbursements])
    for disbursement in disbursements:
        yield disbursement, [_activity(entry) for entry in histories[disbursement.id]]


def _activity(entry: Entry) -> Activity:
    is_object = assumption("activity_updated_at") == "object"
    return Activity.of(entry, updated_at={_DATE: entry.updated_at} if is_object else entry.updated_at)


class FiatPaymentMethod(Record):
    """A bank that disbursements can be sent to."""

    currency: str
    bank_code: str
    bank_name: str
    min_amount: Decimal
    max_amount: Decimal
    fee_flat: Decimal
    fee_percentage: Decimal


class PaidBank(Record):
    """The bank account that was paid."""

    bank_name: str
    account_name: str
    bank_code: str
    currency: str
    account_number: str | None = None
    country: str | None = None


class PaidRecipient(Record):
    """The recipient who was paid; without an id when given in the request."""

    bank: PaidBank
    recipient_id: str | None = None
    email: str | None = None
    name: str | None = None


class _FiatItem(Record, kw_only=True):
    """Fields that lists, reads and both creates share."""

    disbursement_id: str
    recipient: PaidRecipient
    currency: str
    amount: Decimal
    status: MadeStatus
    fee_amount: Decimal
    fee_percentage: Decimal
    reference: str | None = None


class FiatDisbursement(_FiatItem, kw_only=True):
    """A fiat disbursement in lists and reads."""

    created_by: str
    activity_history: list[Activity]
    created_at: Timestamp
    updated_at: Timestamp
    group_id: str | None = None
    note: str | None = None


class NoRecord(Record):
    """The answer of a list that shows one record, when there is none."""


class FiatItemV1(_FiatItem, kw_only=True):
    """An item in the answer of the first version of the create."""

    note: str | None = None


class FiatItemV2(_FiatItem, kw_only=True):
    """An item in the answer of the second version of the create."""

    group_id: str
    activity_history: list[Activity]


class CurrencyTotal(Record):
    """The sum of one currency."""

    currency: str
    total_amount: Decimal


class FiatBatchV1(Record):
    """The answer of the first version. Its items may be in several currencies, so its sums are lists."""

    total_recipient: int
    disburse_data: list[FiatItemV1]
    sum_fees: list[CurrencyTotal]
    sum_amount: list[CurrencyTotal]


class FiatBatchV2(Record):
    """The answer of the second version, in one currency."""

    total_recipient: int
    disburse_data: list[FiatItemV2]
    sum_fees: Decimal
    sum_amount: Decimal


Item = TypeVar("Item", bound=_FiatItem)


def represent_fiat(session: Session, disbursements: Sequence[Disbursement], kind: type[Item]) -> list[Item]:
    """Convert disbursements to records of a kind, with one query for all of them."""
    return [
        kind.of(
            disbursement,
            disbursement_id=disbursement.id,
            recipient=PaidRecipient.of(disbursement, bank=PaidBank.of(disbursement)),
            created_by=disbursement.user_id,
            activity_history=history,
        )
        for disbursement, history in with_histories(session, disbursements)
    ]
