"""A deposit as the service writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.deposits.instructions import network_of
from flask_paycheckout.sandbox.deposits.tables import Deposit, DepositActivity
from flask_paycheckout.sandbox.envelope import iso
from flask_paycheckout.sandbox.world import unknown

#: The interface names the field but none of its values.
DEPOSIT_TYPE = "checkout"


def activities_of(session: Session, deposit_id: str) -> Sequence[DepositActivity]:
    """What happened to a deposit, oldest first."""
    return (
        session.execute(
            select(DepositActivity).where(DepositActivity.deposit_id == deposit_id).order_by(DepositActivity.number)
        )
        .scalars()
        .all()
    )


def represent(session: Session, deposit: Deposit) -> dict[str, Any]:
    """The deposit with its history, ready for the envelope."""
    record = {
        "depositId": deposit.id,
        "depositType": DEPOSIT_TYPE,
        "userId": deposit.user_id,
        "inputCurrency": deposit.input_currency,
        "inputAmount": deposit.input_amount,
        "outputCurrency": deposit.output_currency,
        "outputAmount": deposit.output_amount,
        "fee": {
            "amount": deposit.fee_amount,
            "percentage": deposit.fee_percentage,
            "currency": deposit.input_currency,
        },
        "paymentFiat": _fiat(deposit),
        "paymentCrypto": _crypto(deposit),
        "status": deposit.status,
        "activityHistory": [_activity(activity) for activity in activities_of(session, deposit.id)],
        "exchangeInfo": {
            "exchangeRate": deposit.rate,
            "outputCurrency": deposit.output_currency,
            "outputAmount": deposit.output_amount,
        },
        "createdAt": iso(deposit.created_at),
        "updatedAt": iso(deposit.updated_at),
        "expiredAt": iso(deposit.expired_at),
    }
    return record if unknown("absent_fields") == "null" else {k: v for k, v in record.items() if v is not None}


def _fiat(deposit: Deposit) -> dict[str, Any] | None:
    if deposit.bank_code is None:
        return None
    return {"bankCode": deposit.bank_code, "bankName": deposit.bank_name, "qrData": deposit.qr_data}


def _crypto(deposit: Deposit) -> dict[str, Any] | None:
    if deposit.token is None:
        return None
    return {
        "token": deposit.token,
        "network": network_of(deposit.token),
        "address": deposit.address,
        "amount": deposit.token_amount,
    }


def _activity(activity: DepositActivity) -> dict[str, Any]:
    return {
        "activity": activity.activity,
        "description": activity.description,
        "status": activity.status,
        "updatedAt": iso(activity.updated_at),
    }
