"""`GET /inspector/webhooks`: webhooks with their attempts, and sending one again."""

from __future__ import annotations

from flask import Response, request
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.inspector.account_filter import read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, redirect_to, show
from flask_paycheckout.sandbox.levers.delivery_log import list_webhooks
from flask_paycheckout.sandbox.levers.due import run_due
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, redeliver
from flask_paycheckout.sandbox.world.database import transaction

MAX_ROWS = 50
"""Webhooks on a page, attempts of each, and characters of a body."""
MAX_ATTEMPTS = 10
MAX_BODY = 2000
STATES = ("waiting", "delivered", "failed", "dropped", "no_endpoint")


@inspector.get("/inspector/webhooks")
def show_webhooks() -> Response:
    """Show webhooks, newest first.

    `?order=` filters by the id of a checkout or disbursement, `?state=` by state, `?account=` by the account.
    """
    order, state = query_text("order"), query_text("state")
    conditions = [Webhook.order_id == order] if order else []
    if state in STATES:
        conditions.append(Webhook.state == state)
    with transaction() as session:
        accounts = read_filter(session)
        found = list_webhooks(session, *conditions, *accounts.of(Webhook.user_id), limit=MAX_ROWS)
    return show(
        "webhooks",
        found=found[::-1],
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
