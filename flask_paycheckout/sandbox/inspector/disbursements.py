"""`GET /inspector/disbursements/<id>`: one disbursement and its timeline."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.crypto_disbursements.tables import WalletTransfer
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer
from flask_paycheckout.sandbox.inspector.account_filter import name_of
from flask_paycheckout.sandbox.inspector.blueprint import inspector, show, show_missing
from flask_paycheckout.sandbox.inspector.events_about import calls_about
from flask_paycheckout.sandbox.inspector.timelines import (
    MAX_ENTRIES,
    Entry,
    calls,
    disbursement_states,
    in_order,
    webhook_attempts,
)
from flask_paycheckout.sandbox.world.database import transaction


@inspector.get("/inspector/disbursements/<disbursement_id>")
def show_disbursement(disbursement_id: str) -> Response:
    with transaction() as session:
        settle_due(session)
        made = session.scalars(select(Disbursement).where(Disbursement.id == disbursement_id)).one_or_none()
        bank, wallet = session.get(BankTransfer, disbursement_id), session.get(WalletTransfer, disbursement_id)
        if made is None:
            return show_missing("disbursement")
        timeline, account = _timeline(session, made), name_of(session, made.user_id)
    return show(
        "disbursement",
        made=made,
        bank=bank,
        wallet=wallet,
        account=account,
        timeline=timeline,
        most=MAX_ENTRIES,
    )


def _timeline(session: Session, made: Disbursement) -> list[Entry]:
    about = calls_about(session, made.id)
    return in_order(calls(session, about), disbursement_states(session, made.id), webhook_attempts(session, made.id))
