"""`GET /inspector/webhooks`: what the merchant was told, every attempt at it, and sending one again."""

from __future__ import annotations

from flask import Response, request
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.inspector.blueprint import asked_text, inspector, lead_back, show
from flask_paycheckout.sandbox.levers.due import run_due
from flask_paycheckout.sandbox.outgoing.delivery_log import list_webhooks
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, redeliver
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import webhook_url

#: How many webhooks are on one page, attempts with each, and how much of a body.
MOST_ROWS = 50
MOST_ATTEMPTS = 10
MOST_BODY = 2000
STATES = ("waiting", "delivered", "failed", "dropped", "no_endpoint")


@inspector.get("/inspector/webhooks")
def show_webhooks() -> Response:
    """Newest first; `?order=` picks those of one checkout or disbursement, `?state=` those of a state."""
    order, state = asked_text("order"), asked_text("state")
    conditions = [Webhook.order_id == order] if order else []
    if state in STATES:
        conditions.append(Webhook.state == state)
    with transaction() as session:
        found, endpoint = list_webhooks(session, *conditions, limit=MOST_ROWS), webhook_url(session)
    return show(
        "webhooks",
        found=found[::-1],
        webhook_url=endpoint,
        wanted={"order": order, "state": state},
        states=STATES,
        most={"rows": MOST_ROWS, "attempts": MOST_ATTEMPTS, "body": MOST_BODY},
    )


@inspector.post("/inspector/webhooks/<webhook_id>")
def resend(webhook_id: str) -> AnyResponse:
    with transaction() as session:
        was_found = redeliver(session, webhook_id)
    run_due()
    done = "resent" if was_found else "not-resent"
    return lead_back("show_webhooks", done, order=request.form.get("order") or None)
