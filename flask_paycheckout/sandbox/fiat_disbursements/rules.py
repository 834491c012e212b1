"""Checking and storing batches of fiat disbursements, for both versions of the operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TypeVar

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.batches import BatchItem, check_size, refuse_other_content, store_batch
from flask_paycheckout.sandbox.disbursements.fees import total
from flask_paycheckout.sandbox.disbursements.history import histories_of
from flask_paycheckout.sandbox.disbursements.tables import FIAT, Disbursement
from flask_paycheckout.sandbox.fiat_disbursements.payees import (
    NoMethod,
    Payee,
    SavedRecipients,
    given_payee,
    saved_payee,
    saved_recipients,
)
from flask_paycheckout.sandbox.fiat_disbursements.schemas import (
    ITEMS,
    CurrencyTotal,
    FiatBatchV1,
    FiatBatchV2,
    FiatPaymentV1,
    FiatPaymentV2,
    NewFiatDisbursementsV1,
    NewFiatDisbursementsV2,
    represent_item_v1,
    represent_item_v2,
    transfers_of,
)
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer, FiatMethod
from flask_paycheckout.sandbox.wire.envelope import Refusal
from flask_paycheckout.sandbox.wire.field_types import in_units
from flask_paycheckout.sandbox.wire.parsing import FieldError

Payment = TypeVar("Payment")


@dataclass(frozen=True)
class FiatItem:
    """A checked item with its payee."""

    order: BatchItem
    payee: Payee


def disburse_v1(session: Session, user_id: str, wanted: NewFiatDisbursementsV1) -> FiatBatchV1:
    """Store a batch of the first version, all of it or nothing."""
    check_size(ITEMS, wanted.disburse_data)
    saved = saved_recipients(session, user_id, [payment.recipient_id for payment in wanted.disburse_data])
    items = []
    for field, payment in _named(wanted.disburse_data):
        try:
            payee, method = saved_payee(saved, f"{field}.recipientId", payment.recipient_id, payment.currency)
        except NoMethod:
            # The interface shows this combination: the statusCode of a bad request with the name of another error.
            raise Refusal(400, "Payment method not found", "Not Found") from None
        items.append(FiatItem(_order(field, payment, method), payee))
    made = _store(session, user_id, items, grouped=False)
    transfers = transfers_of(session, made)
    return FiatBatchV1(
        total_recipient=len(made),
        disburse_data=[represent_item_v1(one, transfers[one.id]) for one in made],
        sum_fees=_totals([(one.currency, one.fee_amount) for one in made]),
        sum_amount=_totals([(one.currency, one.amount) for one in made]),
    )


def disburse_v2(session: Session, user_id: str, wanted: NewFiatDisbursementsV2) -> FiatBatchV2:
    """Store a batch of the second version, all of it or nothing."""
    check_size(ITEMS, wanted.disburse_data)
    ids = [payment.recipient_id for payment in wanted.disburse_data if payment.recipient_id is not None]
    saved = saved_recipients(session, user_id, ids)
    items = []
    for field, payment in _named(wanted.disburse_data):
        try:
            payee, method = _payee_v2(saved, field, payment, wanted.currency)
        except NoMethod as wrong:
            raise FieldError(str(wrong)) from None
        items.append(FiatItem(_order(field, payment, method), payee))
    made = _store(session, user_id, items, grouped=True)
    transfers, histories = transfers_of(session, made), histories_of(session, made)
    return FiatBatchV2(
        total_recipient=len(made),
        disburse_data=[represent_item_v2(one, transfers[one.id], histories[one.id]) for one in made],
        sum_fees=total(one.fee_amount for one in made),
        sum_amount=total(one.amount for one in made),
    )


def _named(payments: Sequence[Payment]) -> list[tuple[str, Payment]]:
    """Each payment with its name for error messages."""
    return [(f"{ITEMS}[{place}]", payment) for place, payment in enumerate(payments)]


def _payee_v2(saved: SavedRecipients, field: str, payment: FiatPaymentV2, currency: str) -> tuple[Payee, FiatMethod]:
    if (payment.recipient_id is None) == (payment.recipient is None):
        raise FieldError(f"{field} must have one of recipientId and recipient.")
    if payment.recipient is not None:
        return given_payee(f"{field}.recipient.bank.bankCode", payment.recipient, currency)
    return saved_payee(saved, f"{field}.recipientId", str(payment.recipient_id), currency)


def _order(field: str, payment: FiatPaymentV1 | FiatPaymentV2, method: FiatMethod) -> BatchItem:
    amount = in_units(f"{field}.amount", payment.amount, method.currency)
    if not method.min_amount <= amount <= method.max_amount:
        raise FieldError(
            f"{field}.amount must be from {method.min_amount:f} to {method.max_amount:f} {method.currency}"
            f" at {method.bank_name}."
        )
    return BatchItem(method.currency, amount, method.fees, payment.reference, payment.note)


def _store(session: Session, user_id: str, items: Sequence[FiatItem], *, grouped: bool) -> list[Disbursement]:
    orders = [item.order for item in items]
    batch = store_batch(session, FIAT, user_id, ITEMS, orders, grouped=grouped)
    transfers = transfers_of(session, [one for one in batch.disbursements if one.id in batch.known])
    for place, (one, item) in enumerate(zip(batch.disbursements, items, strict=True)):
        if one.id not in batch.known:
            session.add(BankTransfer(disbursement_id=one.id, **asdict(item.payee)))
        elif not _goes_to(transfers[one.id], item.payee) or grouped != (one.group_id is not None):
            refuse_other_content(ITEMS, place)
    session.flush()
    return batch.disbursements


def _goes_to(transfer: BankTransfer, payee: Payee) -> bool:
    """Whether an earlier transfer went to this payee, whose name and address may have changed since."""
    if payee.recipient_id is not None or transfer.recipient_id is not None:
        return transfer.recipient_id == payee.recipient_id
    return (transfer.bank_code, transfer.account_number) == (payee.bank_code, payee.account_number)


def _totals(amounts: Sequence[tuple[str, Decimal]]) -> list[CurrencyTotal]:
    """The sum of each currency, in the order of its first item."""
    currencies = dict.fromkeys(currency for currency, _ in amounts)
    return [CurrencyTotal(one, total(amount for currency, amount in amounts if currency == one)) for one in currencies]
