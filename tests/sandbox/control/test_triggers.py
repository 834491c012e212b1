"""Events that a tester causes by name."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.control.triggers import EVENTS
from tests.sandbox.actors import Merchant, Receiver, Tester

STATUSES = {
    "checkout": "not_picked",
    "abandoned": "page_expired",
    "picked": "pending",
    "paid": "completed",
    "underpaid": "completed",
    "overpaid": "completed",
    "paid-late": "completed",
    "failed": "failed",
    "expired": "pending",
    "payout": "pending",
    "payout-completed": "completed",
    "payout-failed": "failed",
}


def triggers(tester: Tester, event: str, **given: Any) -> Any:
    return tester.does("POST", "trigger", {"event": event} | given)


def test_each_event_begins_with_something_new_and_ends_in_its_state(tester: Tester) -> None:
    assert set(STATUSES) == set(EVENTS) - {"refund", "webhook"}
    for event, status in STATUSES.items():
        assert triggers(tester, event)["status"] == status, event
    before = tester.offset()
    assert before > 86400


def test_an_event_happens_to_what_is_named(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    checkout = merchant.makes_checkout()
    assert triggers(tester, "picked", id=checkout, paymentMethod="us_qr")["id"] == checkout
    assert triggers(tester, "paid", id=checkout)["status"] == "completed"
    assert tester.refuses("POST", "trigger", {"event": "paid", "id": checkout}) == (409, "checkout")
    assert tester.refuses("POST", "trigger", {"event": "expired", "id": checkout}) == (409, "checkout")
    payout = triggers(tester, "payout")["id"]
    assert triggers(tester, "payout-failed", id=payout)["status"] == "failed"
    assert tester.refuses("POST", "trigger", {"event": "payout-failed", "id": payout}) == (409, "disbursement")


@pytest.mark.each_database
def test_a_refund_goes_out_once(merchant: Merchant, tester: Tester) -> None:
    paid = triggers(tester, "paid", amount=40)["id"]
    refused = {"event": "refund", "id": paid, "amount": 40.01}
    assert tester.refuses("POST", "trigger", refused) == (400, "amount")
    refund = triggers(tester, "refund", id=paid)
    (listed,) = tester.does("GET", "disbursements")
    assert (listed["amount"], listed["reference"]) == (40, f"refund-{paid}")
    assert listed["disbursementId"] == refund["id"]
    assert tester.refuses("POST", "trigger", {"event": "refund", "id": paid}) == (409, "checkout")
    open_one = triggers(tester, "picked")["id"]
    assert tester.refuses("POST", "trigger", {"event": "refund", "id": open_one}) == (409, "checkout")


def test_a_webhook_is_sent_again_by_its_id_or_by_what_it_is_about(tester: Tester, receiver: Receiver) -> None:
    paid = triggers(tester, "paid")["id"]
    (webhook,) = tester.webhooks()
    for named in (paid, webhook["id"]):
        assert triggers(tester, "webhook", id=named)["status"] == "delivered"
    assert receiver.order_ids == [paid] * 3


@pytest.mark.each_database
def test_events_stay_within_their_account(tester: Tester) -> None:
    tester.makes_account("anna")
    assert triggers(tester, "paid", account="anna")["account"] == "anna"
    assert triggers(tester, "payout", account="anna")["account"] == "anna"
    assert {one["account"] for one in tester.does("GET", "events?account=anna")["events"]} == {"anna"}
    assert tester.does("GET", "events?account=default")["events"] == []


@pytest.mark.parametrize(
    ("sent", "refused"),
    [
        ({"event": "nothing"}, (400, "event")),
        ({"event": "paid", "id": "nothing"}, (404, "checkout")),
        ({"event": "checkout", "paymentMethod": "us_qr"}, (400, "paymentMethod")),
        ({"event": "paid", "paymentMethod": "nothing"}, (400, "paymentMethod")),
        ({"event": "paid", "account": "nobody"}, (404, "account")),
        ({"event": "payout", "id": "x"}, (400, "id")),
        ({"event": "payout-failed", "id": "nothing"}, (404, "disbursement")),
        ({"event": "refund", "id": "nothing"}, (404, "checkout")),
        ({"event": "webhook", "id": "nothing"}, (404, "webhook")),
    ],
)
def test_what_cannot_happen_is_refused_and_leaves_nothing(
    tester: Tester, sent: dict[str, Any], refused: tuple[int, str]
) -> None:
    assert tester.refuses("POST", "trigger", sent) == refused
    assert tester.does("GET", "events")["events"] == []
