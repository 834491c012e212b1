"""Changes by the inspector: clock, faults, webhooks sent again, and the reset with its confirmation."""

from __future__ import annotations

from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.inspector.developer import Developer


def test_the_clock_moves_by_a_number_of_any_unit(tester: Tester, developer: Developer) -> None:
    for duration in (" 2.5", "2.5s", "2.5m", "2.5h", "2.5d"):
        developer.presses("clock", advanceSeconds=duration)
    assert tester.offset() == 2.5 * (1 + 1 + 60 + 3600 + 86400)
    refused = developer.presses("clock", advanceSeconds="soon")
    assert (refused.status_code, "advanceSeconds must be a number from 0" in refused.text) == (400, True)


def test_a_fault_is_ordered_by_the_form_listed_and_forgotten(tester: Tester, developer: Developer) -> None:
    order = {"operation": "POST /v1/checkout", "kind": "error", "times": "2", "statusCode": "503", "retryAfter": "7"}
    answer = developer.presses("faults", **order, message="Closed", seconds="")
    assert (answer.status_code, "The fault is armed." in developer.reads(answer.location)) == (303, True)
    (fault,) = tester.does("GET", "faults")
    assert (fault["times"], fault["statusCode"], fault["retryAfter"], fault["message"]) == (2, 503, 7, "Closed")
    assert "error 503, Retry-After 7 Closed 2 more" in developer.reads("/inspector/control")
    developer.presses("faults/forget")
    assert tester.does("GET", "faults") == []


def test_a_webhook_is_sent_again_and_leads_back_to_the_same_list(
    merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer
) -> None:
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    answer = developer.presses(f"webhooks/{tester.webhooks()[0]['id']}", order=checkout)
    assert receiver.order_ids == [checkout, checkout]
    assert answer.location == f"/inspector/webhooks?done=resent&order={checkout}"
    assert "The webhook was sent again." in developer.reads(answer.location)
    gone = developer.presses("webhooks/none")
    assert "There is no such webhook any more." in developer.reads(gone.location)
