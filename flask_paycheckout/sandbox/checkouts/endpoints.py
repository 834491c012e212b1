"""`POST /v1/checkout`."""

from __future__ import annotations

from flask import Blueprint

from flask_paycheckout.sandbox.access import check_access
from flask_paycheckout.sandbox.checkouts.rules import NewCheckout, check_asked, page_url, store_checkout
from flask_paycheckout.sandbox.customer import pays
from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.envelope import Answer, Refusal, success
from flask_paycheckout.sandbox.faults import take_webhook_fault
from flask_paycheckout.sandbox.operations import Guard, operation, read_body
from flask_paycheckout.sandbox.records import Record
from flask_paycheckout.sandbox.world import unknown

checkouts = Blueprint("checkouts", __name__)


class CheckoutLink(Record, frozen=True):
    """The hosted page of a checkout; `url` is to be used as it is."""

    id: str
    url: str


@checkouts.post("/v1/checkout")
@operation(guard=Guard.SIGNATURE, takes=NewCheckout, codes=(200, 201))
def create_checkout() -> Answer[CheckoutLink]:
    """Make a hosted page for one payment."""
    with transaction() as session:
        account = check_access(session)
        if not account.checkout_enabled:
            raise Refusal(400, "Checkout is not enabled")
        checkout = store_checkout(session, account.user_id, check_asked(read_body(NewCheckout)))
        overtaken = take_webhook_fault(session, "before_response") is not None
    if overtaken:
        pays(checkout.id)
    return success(
        CheckoutLink(checkout.id, page_url(checkout.id)),
        "Checkout created successfully",
        int(unknown("checkout_status_code")),
    )
