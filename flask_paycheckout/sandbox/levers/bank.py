"""Money out as banks and networks see it: the disbursements that they were asked for, and what becomes of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.crypto_disbursements.tables import WalletTransfer
from flask_paycheckout.sandbox.disbursements.tables import COMPLETED, FAILED, Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import finish_disbursement
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer
from flask_paycheckout.sandbox.levers.due import send_and_wait
from flask_paycheckout.sandbox.wire.envelope import iso
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.database import transaction


class NoSuchDisbursement(Exception):
    """There is no disbursement with this id."""


def list_disbursements(session: Session, *conditions: ColumnElement[bool]) -> list[dict[str, Any]]:
    """The disbursements that fulfil the conditions, of both kinds, oldest first."""
    rows = session.execute(
        select(Disbursement, BankTransfer, WalletTransfer, Account.name)
        .join(Account, Account.user_id == Disbursement.user_id)
        .where(*conditions)
        .outerjoin(BankTransfer, BankTransfer.disbursement_id == Disbursement.id)
        .outerjoin(WalletTransfer, WalletTransfer.disbursement_id == Disbursement.id)
        .order_by(Disbursement.number)
    )
    return [_describe(*row) for row in rows]


def finish(disbursement_id: str, status: object) -> dict[str, Any]:
    """Carry out a pending disbursement or let it fail, and send its webhook.

    :raises FieldError: the status is neither `completed` nor `failed`.
    :raises NoSuchDisbursement: there is none with this id.
    :raises NotPossible: it is not pending any more.
    """
    if status not in (COMPLETED, FAILED):
        raise FieldError(f"status must be {COMPLETED} or {FAILED}.")
    with transaction() as session:
        made = session.scalars(select(Disbursement).where(Disbursement.id == disbursement_id)).one_or_none()
        if made is None:
            raise NoSuchDisbursement(disbursement_id)
        finish_disbursement(session, made, str(status))
        bank, wallet = session.get(BankTransfer, made.id), session.get(WalletTransfer, made.id)
        finished = _describe(made, bank, wallet, session.get_one(Account, made.user_id).name)
    send_and_wait()
    return finished


def _describe(
    made: Disbursement, bank: BankTransfer | None, wallet: WalletTransfer | None, account: str
) -> dict[str, Any]:
    to = wallet.receiver_address if wallet is not None else None
    if bank is not None:
        to = bank.recipient_id or bank.account_number
    return {
        "disbursementId": made.id,
        "account": account,
        "kind": made.kind,
        "reference": made.reference,
        "amount": made.amount,
        "currency": made.currency,
        "to": to,
        "status": made.status,
        "createdAt": iso(made.created_at),
    }
