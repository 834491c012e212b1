"""The endpoints `GET /v1/deposit/{depositIdOrReference}` and `PATCH /v1/deposit/{depositId}`."""

from __future__ import annotations

from flask import Blueprint
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import for_account
from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.deposits.tables import DepositRecord, represent
from flask_paycheckout.sandbox.deposits.transitions import (
    expire_due,
    find_deposit,
    force_deposit,
    may_be_forced_to,
)
from flask_paycheckout.sandbox.outgoing.webhooks import send_due
from flask_paycheckout.sandbox.wire.envelope import Envelope, Refusal, success, unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import StatusUpdate
from flask_paycheckout.sandbox.wire.operations import operation, read_body

deposits = Blueprint("deposits", __name__)


@deposits.get("/v1/deposit/<path:deposit_id>")
@operation()
@for_account
def read_deposit(session: Session, account: Account, deposit_id: str) -> Envelope[DepositRecord]:
    """Read a deposit by its id or its reference, which may contain slashes.

    It does not exist before the customer picked a method.
    """
    expire_due(session)
    deposit = find_deposit(session, account.user_id, deposit_id)
    if deposit is None:
        raise Refusal(404, "Deposit not found")
    return success(represent(session, deposit))


@deposits.patch("/v1/deposit/<path:deposit_id>")
@operation(body=StatusUpdate)
def update_deposit(deposit_id: str) -> Envelope[DepositRecord]:
    """Force a status, which only a sandbox allows."""
    answer = _update(deposit_id)
    send_due()
    return answer


@for_account
def _update(session: Session, account: Account, deposit_id: str) -> Envelope[DepositRecord]:
    status = read_body(StatusUpdate).status
    if not may_be_forced_to(status):
        raise unspecified_refusal(400, "status is none that the service knows.")
    deposit = force_deposit(session, account.user_id, deposit_id, status)
    if deposit is None:
        raise unspecified_refusal(400, "Deposit not found")
    return success(represent(session, deposit), "Deposit updated successfully")
