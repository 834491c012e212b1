"""Signatures of webhooks in each form of the sandbox's switch."""

from __future__ import annotations

import hmac
import json
from typing import Any

import pytest

from flask_paycheckout.client import PaymentsClient, WebhookRefused, verify_webhook
from flask_paycheckout.testing import Sandbox
from flask_paycheckout.totals import Pay

SECRET = "sandbox-secret-0123456789abcdef"


def sent(form: str) -> tuple[dict[str, str], bytes, float]:
    """Headers and body of a webhook, and the sandbox's time."""
    sandbox = Sandbox(unknowns={"webhook_signature": form})
    with PaymentsClient(
        sandbox.base_url, client_id="sandbox-client", client_secret=SECRET, transport=sandbox.transport
    ) as client:
        sandbox.pay(client.checkouts.create(Pay("12.50", "USD")).id)
    request = sandbox.webhooks[0]["attempts"][0]["request"]
    return request["headers"], request["body"].encode(), sandbox.now.timestamp()


@pytest.mark.parametrize("form", ["body", "timestamp_and_body"])
def test_only_the_sandboxs_own_signature_holds(form: Any) -> None:
    headers, body, now = sent(form)
    lower = {name.lower(): value for name, value in headers.items()}

    def refused(headers: dict[str, str], body: bytes = body, secret: str = SECRET) -> None:
        with pytest.raises(WebhookRefused) as caught:
            verify_webhook(headers, body, secret, signed=form, clock=lambda: now)
        assert SECRET not in str(caught.value)

    for some_headers in (headers, lower):
        verify_webhook(some_headers, body, SECRET, signed=form, clock=lambda: now)
    assert json.loads(body)["orderId"]
    refused(headers, body + b" ")
    refused(headers, secret="another")
    for name in ("x-signature", "x-timestamp"):
        refused({**lower, name: "é"} if name in lower else {})


@pytest.mark.parametrize("late", [-310, 310])
def test_an_old_signature_holds_no_more(late: float) -> None:
    headers, body, now = sent("timestamp_and_body")
    with pytest.raises(WebhookRefused, match="not of now"):
        verify_webhook(headers, body, SECRET, clock=lambda: now + late)


def test_nothing_weaker_is_believed_by_mistake() -> None:
    headers, body, _ = sent("body")
    by_anybody = {"X-Signature": hmac.new(b"", body, "sha256").hexdigest()}
    with pytest.raises(ValueError, match="client_secret is empty"):
        verify_webhook(by_anybody, body, "", signed="body")
    with pytest.raises(WebhookRefused, match="X-Timestamp"):
        verify_webhook(headers, body, SECRET, signed="timestamp")  # type: ignore[arg-type]  # misspelt
