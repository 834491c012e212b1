"""`GET /inspector/payments/<id>`: one of the deprecated payments and its timeline."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

from flask_paycheckout.sandbox.inspector.account_filter import name_of
from flask_paycheckout.sandbox.inspector.blueprint import inspector, show, show_missing
from flask_paycheckout.sandbox.inspector.timelines import MAX_ENTRIES, calls, in_order, mentions, payment_states
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.world.database import transaction


@inspector.get("/inspector/payments/<payment_id>")
def show_payment(payment_id: str) -> Response:
    with transaction() as session:
        progress_due(session)
        made = session.scalars(select(Payment).where(Payment.id == payment_id)).one_or_none()
        if made is None:
            return show_missing("payment")
        timeline = in_order(calls(session, mentions(made.id)), payment_states(session, made.id))
        account = name_of(session, made.user_id)
    return show("payment", made=made, account=account, timeline=timeline, most=MAX_ENTRIES)
