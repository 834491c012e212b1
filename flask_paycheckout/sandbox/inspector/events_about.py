"""Which events are about one thing, by its id: a checkout, deposit, disbursement, payment, recipient or webhook."""

from __future__ import annotations

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.deposits.tables import Deposit, DepositActivity
from flask_paycheckout.sandbox.disbursements.tables import Disbursement, DisbursementActivity
from flask_paycheckout.sandbox.inspector.timelines import mentions
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook
from flask_paycheckout.sandbox.payments.tables import PaymentActivity
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest


def conditions_about(session: Session, about: str) -> dict[str, list[ColumnElement[bool]]]:
    """The conditions of each kind of events."""
    return {
        "call": [calls_about(session, about)],
        "deposit": [DepositActivity.deposit_id == about],
        "disbursement": [DisbursementActivity.disbursement_id == about],
        "payment": [PaymentActivity.payment_id == about],
        "webhook": [Webhook.order_id == about],
        "mail": [Mail.text.contains(about, autoescape=True)],
    }


def calls_about(session: Session, about: str) -> ColumnElement[bool]:
    """The condition that a logged call is about a thing, also where it does not name the thing's id."""
    condition = mentions(about)
    reference = session.scalar(select(Deposit.reference).where(Deposit.id == about))
    if reference:
        condition |= LoggedRequest.target == f"/v1/deposit/{reference}"
    group = session.scalar(select(Disbursement.group_id).where(Disbursement.id == about))
    if group:
        # The log truncates the answer to a large batch, perhaps before this item, but not before the group id.
        condition |= (LoggedRequest.method == "POST") & mentions(group)
    return condition
