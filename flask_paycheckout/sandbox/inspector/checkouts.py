"""`GET /inspector/checkouts/<id>`: one checkout, its deposit, and their timeline."""

from __future__ import annotations

from flask import Response
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.inspector.account_filter import name_of
from flask_paycheckout.sandbox.inspector.blueprint import inspector, show, show_missing
from flask_paycheckout.sandbox.inspector.events_about import calls_about
from flask_paycheckout.sandbox.inspector.timelines import (
    MAX_ENTRIES,
    STATE,
    Entry,
    calls,
    deposit_states,
    in_order,
    webhook_attempts,
)
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction


@inspector.get("/inspector/checkouts/<checkout_id>")
def show_checkout(checkout_id: str) -> Response:
    with transaction() as session:
        expire_due(session)
        checkout, deposit = session.get(Checkout, checkout_id), session.get(Deposit, checkout_id)
        if checkout is None:
            return show_missing("checkout")
        timeline, account = _timeline(session, checkout), name_of(session, checkout.user_id)
    return show("checkout", checkout=checkout, deposit=deposit, account=account, timeline=timeline, most=MAX_ENTRIES)


def _timeline(session: Session, checkout: Checkout) -> list[Entry]:
    return in_order(
        calls(session, calls_about(session, checkout.id)),
        [Entry(checkout.created_at, STATE, "Checkout created", "open")],
        _expiry(checkout),
        deposit_states(session, checkout.id),
        webhook_attempts(session, checkout.id),
    )


def _expiry(checkout: Checkout) -> list[Entry]:
    if checkout.picked_at is not None or checkout.page_is_open(world().clock.now()):
        return []
    return [Entry(checkout.expires_at, STATE, "Page closed", "abandoned", detail="No payment method was picked.")]
