"""Events that a tester causes by name."""

from __future__ import annotations

from typing import Any

import pytest

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


def triggers(tester: Tester, event: str, **fields: Any) -> Any:
    return tester.does("POST", "trigger", {"event": event} | fields)


def test_each_event_begins_with_something_new_and_ends_in_its_state(tester: Tester) -> None:
    assert set(STATUSES) == set(EVENTS) - {"refund", "webhook"}
    for event, status in STATUSES.items():
        assert triggers(tester, event)["status"] == status, event
    assert tester.offset() > 86400


def test_an_event_happens_to_what_is_named(merchant: Merchant, tester: Tester, receiver: Receiver) -> None:
    checkout = merchant.makes_checkout()
    assert triggers(tester, "picked", id=checkout, paymentMethod="us_qr")["id"] == checkout
    assert triggers(tester, "paid", id=checkout)["status"] == "completed"
    (webhook,) = tester.webhooks()
    for named in (checkout, webhook["id"]):
        assert triggers(tester, "webhook", id=named)["status"] == "delivered"
    assert receiver.order_ids == [checkout] * 3
    payout = triggers(tester, "payout")["id"]
    assert triggers(tester, "payout-failed", id=payout)["status"] == "failed"
    for event, about, what in (("paid", checkout, "checkout"), ("payout-failed", payout, "disbursement")):
        assert tester.refuses("POST", "trigger", {"event": event, "id": about}) == (409, what)


@pytest.mark.on_each_database
def test_a_refund_goes_out_once(tester: Tester) -> None:
    paid = triggers(tester, "paid", amount=40)["id"]
    assert tester.refuses("POST", "trigger", {"event": "refund", "id": paid, "amount": 40.01}) == (400, "amount")
    refund = triggers(tester, "refund", id=paid)["id"]
    (listed,) = tester.does("GET", "disbursements")
    facts = (listed["disbursementId"], listed["amount"], listed["reference"])
    assert facts == (refund, 40, f"refund-{paid}")
    for refused in (paid, triggers(tester, "picked")["id"]):
        assert tester.refuses("POST", "trigger", {"event": "refund", "id": refused}) == (409, "checkout")


@pytest.mark.parametrize(
    ("sent", "refused"),
    [
        ({"event": "nothing"}, (400, "event")),
        ({"event": "paid", "paymentMethod": "nothing"}, (400, "paymentMethod")),
        ({"event": "paid", "currency": "nothing"}, (400, "currency")),
        ({"event": "paid", "account": "nobody"}, (404, "account")),
        ({"event": "refund", "id": "nothing"}, (404, "checkout")),
    ],
)
def test_a_trigger_that_cannot_happen_is_refused_and_leaves_nothing(
    tester: Tester, sent: dict[str, Any], refused: tuple[int, str]
) -> None:
    assert tester.refuses("POST", "trigger", sent) == refused
    assert tester.does("GET", "events")["events"] == []
