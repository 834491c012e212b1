"""Bank transfers: the records that are sent, and the service's records."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from flask_paycheckout.client.bodies import Amount
from flask_paycheckout.client.hidden import AccountNumber
from flask_paycheckout.client.records import GIVEN, Activity, Record, if_sent


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoutBank:
    """The bank account of a recipient whom the service does not store.

    :ivar bank_code: a code from `fiat_disbursements.payment_methods()`.
    """

    bank_name: str
    account_name: str
    account_number: str = field(repr=False)
    bank_code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecipient:
    """A recipient who is described in the disbursement itself."""

    bank: PayoutBank
    email: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiatItem:
    """One bank transfer to make.

    :ivar amount: Decimal, int or str, in the batch's currency; never a float.
    :ivar recipient_id: the id of an existing recipient; either this or `recipient`.
    :ivar recipient: a recipient whom the service does not store.
    :ivar reference: the shop's own reference, unique among all disbursements, with which a lost answer is looked up.
    """

    amount: Amount
    recipient_id: str | None = None
    recipient: NewRecipient | None = None
    reference: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiatItemV1:
    """One bank transfer for the deprecated `create_v1`: to an existing recipient, with its own currency."""

    amount: Amount
    currency: str
    recipient_id: str
    reference: str | None = None
    note: str | None = None


class FiatBank(Record, frozen=True):
    """The account to which a transfer goes."""

    bank_name: str = GIVEN
    account_name: str = GIVEN
    account_number: AccountNumber | None = None
    bank_code: str = GIVEN
    currency: str = GIVEN
    country: str | None = None


class FiatRecipient(Record, frozen=True):
    """The recipient of a transfer, who may have no id, e-mail and name if described in the disbursement itself."""

    recipient_id: str | None = None
    email: str | None = None
    name: str | None = None
    bank: FiatBank = GIVEN


class FiatTransfer(Record, frozen=True):
    """A bank transfer in the answer to a create.

    :ivar group_id: the id of its batch; not in every answer.
    :ivar amount: the amount in `currency`.
    :ivar fee_amount: the fee in `currency`.
    :ivar fee_percentage: the fee in percent of the amount, as the service reports it.
    :ivar status: `pending`, `failed` or `completed`.
    :ivar reference: the reference with which it was created.
    """

    disbursement_id: str
    status: str = GIVEN
    group_id: str | None = None
    recipient: FiatRecipient = GIVEN
    amount: Decimal = GIVEN
    currency: str = GIVEN
    fee_amount: Decimal = GIVEN
    fee_percentage: Decimal = GIVEN
    activity_history: tuple[Activity, ...] = ()
    reference: str | None = None
    note: str | None = None


class FiatDisbursement(FiatTransfer, frozen=True):
    """A bank transfer that the service stores.

    :ivar created_by: the id of the user.
    """

    created_by: str = GIVEN
    created_at: datetime = GIVEN
    updated_at: datetime = GIVEN


def created_at_of(disbursement: FiatDisbursement) -> datetime | None:
    """The time at which the service created a transfer; None if it is missing."""
    created_at: datetime | None = if_sent(disbursement, "created_at")
    return created_at


class FiatBatch(Record, frozen=True):
    """The transfers of one `create`, and their sums in the batch's currency."""

    disburse_data: tuple[FiatTransfer, ...]
    total_recipient: int = GIVEN
    sum_fees: Decimal = GIVEN
    sum_amount: Decimal = GIVEN


class CurrencySum(Record, frozen=True):
    """A sum in one currency."""

    currency: str = GIVEN
    total_amount: Decimal = GIVEN


class FiatBatchV1(Record, frozen=True):
    """The transfers of one `create_v1`, and their sums by currency."""

    disburse_data: tuple[FiatTransfer, ...]
    total_recipient: int = GIVEN
    sum_fees: tuple[CurrencySum, ...] = ()
    sum_amount: tuple[CurrencySum, ...] = ()


class FiatPaymentMethod(Record, frozen=True):
    """A bank to which transfers can go.

    :ivar bank_code: the code for `PayoutBank`.
    :ivar min_amount: the minimum amount of one transfer, in `currency`.
    :ivar max_amount: the maximum amount of one transfer, in `currency`.
    :ivar fee_flat: the flat fee in `currency`.
    :ivar fee_percentage: the fee in percent of the amount, as the service reports it.
    """

    currency: str
    bank_code: str
    bank_name: str = GIVEN
    min_amount: Decimal = GIVEN
    max_amount: Decimal = GIVEN
    fee_flat: Decimal = GIVEN
    fee_percentage: Decimal = GIVEN
