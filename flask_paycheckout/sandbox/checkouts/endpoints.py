"""`POST /v1/checkout`."""

from __future__ import annotations

from flask import Blueprint, Response

from flask_paycheckout.sandbox.access import check_signature
from flask_paycheckout.sandbox.checkouts.rules import page_url, read_asked, store_checkout
from flask_paycheckout.sandbox.customer import pays
from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.envelope import Refusal, success
from flask_paycheckout.sandbox.faults import take_webhook_fault
from flask_paycheckout.sandbox.fields import read_object
from flask_paycheckout.sandbox.world import unknown

checkouts = Blueprint("checkouts", __name__)


@checkouts.post("/v1/checkout")
def create_checkout() -> Response:
    """Make a hosted page for one payment."""
    with transaction() as session:
        account = check_signature(session)
        if not account.checkout_enabled:
            raise Refusal(400, "Checkout is not enabled")
        checkout = store_checkout(session, account.user_id, read_asked(read_object()))
        overtaken = take_webhook_fault(session, "before_response") is not None
    if overtaken:
        pays(checkout.id)
    return success(
        {"id": checkout.id, "url": page_url(checkout.id)},
        "Checkout created successfully",
        int(unknown("checkout_status_code")),
    )
