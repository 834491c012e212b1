"""The headers of webhooks. The interface shows none of them: two unknowns add a signature and what the event is."""

from __future__ import annotations

import hmac
import json
from hashlib import sha256

from flask_paycheckout.sandbox.world.context import assumption, world

_PLAIN = {"Content-Type": "application/json", "User-Agent": "payments-sandbox/1"}


def headers_of(webhook_id: str, attempt: int, body: bytes, client_secret: str) -> dict[str, str]:
    """The headers of one attempt to send a webhook.

    :param attempt: the first is 1.
    """
    return _PLAIN | _event(webhook_id, attempt, body) | _signature(body, client_secret)


def _event(webhook_id: str, attempt: int, body: bytes) -> dict[str, str]:
    if assumption("webhook_headers") == "plain":
        return {}
    event = "deposit" if "orderId" in json.loads(body) else "disbursement"
    return {"X-Webhook-Event": event, "X-Webhook-Id": webhook_id, "X-Webhook-Attempt": str(attempt)}


def _signature(body: bytes, client_secret: str) -> dict[str, str]:
    match assumption("webhook_signature"):
        case "body":
            return {"X-Signature": _signed(body, client_secret)}
        case "timestamp_and_body":
            now = str(int(world().clock.now().timestamp()))
            return {"X-Timestamp": now, "X-Signature": _signed(f"{now}.".encode() + body, client_secret)}
    return {}


def _signed(text: bytes, client_secret: str) -> str:
    return hmac.new(client_secret.encode(), text, sha256).hexdigest()
