"""The description of the service: `/openapi.json` for tools, and `/docs`, on which people try it.

Neither needs the control token, because neither contains a secret.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, current_app

from flask_paycheckout.sandbox.auth.start_state import PUBLISHED, first_keys
from flask_paycheckout.sandbox.control.calls import call
from flask_paycheckout.sandbox.control.hosted_page import page
from flask_paycheckout.sandbox.deposits.tables import DepositRecord
from flask_paycheckout.sandbox.disbursements.crypto import CryptoDisbursement
from flask_paycheckout.sandbox.disbursements.fiat_schemas import FiatDisbursement
from flask_paycheckout.sandbox.wire.envelope import Record, answer
from flask_paycheckout.sandbox.wire.openapi import DescribedWebhook, document
from flask_paycheckout.sandbox.world.context import world

description = Blueprint("description", __name__)


class DepositWebhook(Record):
    """A deposit was completed, or its status was forced. Only a read of the deposit proves it."""

    order_id: str
    """The id of the checkout and of its deposit."""


class DisbursementWebhook(Record):
    """The status of a disbursement was forced."""

    disbursement_id: str
    status: str


WEBHOOKS: dict[str, DescribedWebhook] = {
    "deposit": ("webhook_payload", DepositWebhook, DepositRecord),
    "disbursement": ("disbursement_webhook", DisbursementWebhook, FiatDisbursement | CryptoDisbursement),
}


@call("GET /openapi.json", "describes the service, without the control interface")
def describe_service() -> dict[str, Any]:
    return document(current_app, answers=world().example_answers(world()), webhooks=WEBHOOKS)


@call("GET /control-openapi.json", "describes the control interface")
def describe_control() -> dict[str, Any]:
    return document(current_app, control=True)


@description.get("/openapi.json")
def show_description() -> Response:
    return answer(describe_service())


@description.get("/docs")
def show_docs() -> Response:
    """The description as a page that sends signed calls."""
    # Fill in the credentials only if they are published anyway.
    keys = first_keys(world())
    response = page("docs.html", merchant=keys if keys is PUBLISHED else None)
    policy = response.headers["Content-Security-Policy"].replace("style-src", "style-src 'unsafe-inline'")
    response.headers["Content-Security-Policy"] = f"{policy}; connect-src 'self'"
    return response
