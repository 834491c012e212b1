"""Rules of webhooks."""

from __future__ import annotations

from tests.rules import checkouts, deposits, fiat_batches
from tests.rules.rule import Rule, tests_of

_webhooks = tests_of("sandbox/outgoing/test_webhooks.py")
_deposits = tests_of("sandbox/deposits/test_endpoints.py")
_update = tests_of("sandbox/disbursements/test_update.py")
_view = tests_of("views/test_webhook.py")

RULES = (
    Rule(
        id="event.deposit.completed",
        says="A completed deposit is told of by a webhook, once.",
        on=(checkouts.CREATE,),
        shown_by=_webhooks("test_a_completed_deposit_is_told_once"),
    ),
    Rule(
        id="event.deposit.forced",
        says="The sandbox's update of a deposit sends the webhook too.",
        on=(deposits.UPDATE,),
        shown_by=_deposits("test_a_sandbox_update_forces_the_status_and_sends_the_webhook"),
    ),
    Rule(
        id="event.deposit.order-id",
        says="orderId in the webhook is the checkout's id; nothing else in it is certain.",
        on=(checkouts.CREATE,),
        shown_by=_webhooks("test_a_completed_deposit_is_told_once", "test_unknown_webhook_payload_full"),
        kept_by_client=_view(
            "test_a_hint_about_a_known_checkout_is_stored_and_read", "test_what_the_webhook_itself_says_is_not_evidence"
        ),
    ),
    Rule(
        id="event.deposit.none-without-a-pick",
        says="A checkout whose customer never picks a method sends nothing, ever.",
        on=(checkouts.CREATE,),
        shown_by=_webhooks("test_no_pick_no_webhook"),
    ),
    Rule(
        id="event.disbursement.forced",
        says="The sandbox's update of a disbursement sends a webhook, whatever its kind.",
        on=(fiat_batches.UPDATE,),
        shown_by=_update("test_each_update_sends_a_webhook", "test_unknown_disbursement_webhook_full"),
    ),
    Rule(
        id="event.registration",
        says="One place is registered for webhooks, outside of the operations; a checkout needs no set-up of its own.",
        on=(checkouts.CREATE,),
        shown_by=_webhooks("test_without_an_endpoint_it_is_only_recorded_and_can_be_sent_later"),
    ),
    Rule(
        id="event.delivery",
        says="Whether a webhook is sent again is open.",
        on=(checkouts.CREATE,),
        shown_by=_webhooks("test_retries_wait_for_the_virtual_clock", "test_unknown_webhook_retries_off"),
        kept_by_client=_view("test_many_webhooks_of_one_checkout_cost_one_read_per_cool_down"),
    ),
)
