"""`GET /inspector/webhooks`: webhooks with their attempts, and sending one again."""

from __future__ import annotations

from flask import Response, request
from sqlalchemy import select
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.inspector.account_filter import read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, redirect_to, show
from flask_paycheckout.sandbox.inspector.newest import MAX_ROWS, Order, newest
from flask_paycheckout.sandbox.levers.delivery_log import list_webhooks
from flask_paycheckout.sandbox.levers.due import run_due
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, redeliver
from flask_paycheckout.sandbox.world.database import transaction

MAX_ATTEMPTS = 10
"""Attempts that are shown of a webhook, and characters of its body."""
MAX_BODY = 2000
STATES = ("waiting", "delivered", "failed", "dropped", "no_endpoint")
_ORDER = Order(Webhook.created_at, Webhook.id)


@inspector.get("/inspector/webhooks")
def show_webhooks() -> Response:
    """Show webhooks, newest first.

    `?order=` filters by the id of a checkout or disbursement, `?state=` by state, `?account=` by the account.
    """
    order, state = query_text("order"), query_text("state")
    about = [Webhook.order_id == order] if order else []
    in_state = [Webhook.state == state] if state in STATES else []
    with transaction() as session:
        accounts = read_filter(session)
        # Each of them has an index of its own; the first is used, and the others filter what it gives.
        first, *others = [each for each in (about, accounts.of(Webhook.user_id), in_state) if each] or [[]]
        page = newest(session, select(Webhook), _ORDER, first, [condition for each in others for condition in each])
        ids = [webhook.id for (webhook,) in page.rows]
        found = list_webhooks(session, Webhook.id.in_(ids), limit=MAX_ROWS) if ids else []
    return show(
        "webhooks",
        found=found[::-1],
        older=page.older,
        accounts=accounts,
        wanted={"order": order, "state": state},
        states=STATES,
        most={"rows": MAX_ROWS, "attempts": MAX_ATTEMPTS, "body": MAX_BODY},
    )


@inspector.post("/inspector/webhooks/<webhook_id>")
def resend(webhook_id: str) -> AnyResponse:
    with transaction() as session:
        was_found = redeliver(session, webhook_id)
    run_due()
    done = "resent" if was_found else "not-resent"
    kept = {name: request.form.get(name) or None for name in ("order", "account")}
    return redirect_to("show_webhooks", done, **kept)
