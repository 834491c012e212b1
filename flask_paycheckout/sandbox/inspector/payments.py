"""`GET /inspector/payments/<id>`: one of the deprecated payments and its timeline."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

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
        timeline = [] if made is None else in_order(calls(session, mentions(made.id)), payment_states(session, made.id))
    if made is None:
        return show_missing("payment")
    return show("payment", made=made, timeline=timeline, most=MAX_ENTRIES)
