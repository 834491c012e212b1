"""The endpoint `POST /v1/checkout`."""

from __future__ import annotations

from flask import Blueprint, g
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import check_access
from flask_paycheckout.sandbox.checkouts.rules import (
    CheckoutLink,
    NewCheckout,
    page_url,
    requested_amounts,
    store_checkout,
)
from flask_paycheckout.sandbox.outgoing.faults import take_webhook_fault
from flask_paycheckout.sandbox.wire.envelope import Envelope, Refusal, success
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body
from flask_paycheckout.sandbox.wire.request_log import in_one_transaction
from flask_paycheckout.sandbox.world.context import assumption

checkouts = Blueprint("checkouts", __name__)


@checkouts.post("/v1/checkout")
@operation(credentials=Credentials.SIGNATURE, body=NewCheckout, codes=(200, 201))
@in_one_transaction
def create_checkout(session: Session) -> Envelope[CheckoutLink]:
    """Make a hosted page for one payment."""
    account = check_access(session)
    if not account.checkout_enabled:
        raise Refusal(400, "Checkout is not enabled")
    checkout_id = store_checkout(session, account.user_id, requested_amounts(read_body(NewCheckout)))
    if take_webhook_fault(session, account.user_id, "before_response") is not None:
        # The customer pays before the response is sent; `hooks` sees to it.
        g.paid_before_response = checkout_id
    return success(
        CheckoutLink(checkout_id, page_url(checkout_id)),
        "Checkout created successfully",
        int(assumption("checkout_status_code")),
    )
