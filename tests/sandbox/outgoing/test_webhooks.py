"""The deposit webhook: when it is sent, its fields, its record, retries, and its faults."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.actors import ENDPOINT, Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox


def paid(merchant: Merchant, tester: Tester) -> str:
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    return checkout


def test_a_completed_deposit_is_told_once(merchant: Merchant, tester: Tester, receiver: Receiver) -> None:
    merchant.makes_checkout()
    tester.advances(hours=48)
    checkout = merchant.makes_checkout()
    tester.picks(checkout)
    assert receiver.received == tester.webhooks() == []
    tester.pays(checkout)
    assert receiver.received == [{"orderId": checkout}]


def test_every_attempt_is_recorded_with_request_answer_and_time(
    merchant: Merchant, tester: Tester, receiver: Receiver
) -> None:
    receiver.answers = [503, ConnectionRefusedError("nobody there"), 204]
    checkout = paid(merchant, tester)
    tester.advances(hours=1)
    (webhook,) = tester.webhooks()
    assert (webhook["orderId"], webhook["state"]) == (checkout, "delivered")
    first, second, third = webhook["attempts"]
    assert [attempt["answer"] for attempt in webhook["attempts"]] == [{"status": 503}, None, {"status": 204}]
    assert "nobody there" in second["error"]
    assert (first["request"]["url"], first["request"]["body"]) == (ENDPOINT, f'{{"orderId":"{checkout}"}}')
    assert first["at"] < second["at"] < third["at"]


@pytest.mark.parametrize(
    ("fault", "answers", "received", "state"),
    [
        # Seconds that pass, and the number of received webhooks at that time.
        pytest.param({}, [500, 500], [(50, 1), (15, 2), (300, 3)], "delivered", id="refused-twice"),
        pytest.param({}, [300], [(0, 1)], "waiting", id="redirected"),
        pytest.param({"kind": "drop"}, [], [(0, 0), (864_000, 0)], "dropped", id="drop"),
        pytest.param({"kind": "duplicate"}, [], [(0, 2)], "delivered", id="duplicate"),
        pytest.param({"kind": "delay", "seconds": 600}, [], [(590, 0), (15, 1)], "delivered", id="delay"),
        pytest.param({"kind": "reorder"}, [], [(0, 0), (301, 1)], "delivered", id="held-back-for-no-other"),
    ],
)
def test_when_and_how_often_a_webhook_is_received(
    merchant: Merchant,
    tester: Tester,
    receiver: Receiver,
    fault: dict[str, Any],
    answers: list[int | OSError],
    received: list[tuple[int, int]],
    state: str,
) -> None:
    receiver.answers = answers
    if fault:
        tester.orders_fault("webhook", **fault)
    checkout = paid(merchant, tester)
    for seconds, count in received:
        tester.advances(seconds=seconds)
        assert receiver.order_ids == [checkout] * count
    assert tester.webhooks()[0]["state"] == state


def test_a_webhook_that_nobody_takes_has_failed_in_the_end(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    for retries, attempts in (("on", 6), ("off", 1)):
        tester = Tester(app := make_sandbox(webhook_retries=retries))
        receiver.answers = [500] * 50
        receiver.received.clear()
        paid(Merchant(app), tester)
        tester.advances(hours=240)
        assert (len(receiver.received), tester.webhooks()[0]["state"]) == (attempts, "failed")


def test_without_an_endpoint_it_is_only_recorded_and_can_be_sent_later(
    merchant: Merchant, tester: Tester, receiver: Receiver
) -> None:
    tester.does("PUT", "webhook-endpoint", {"url": None})
    paid(merchant, tester)
    (webhook,) = tester.webhooks()
    assert (webhook["state"], receiver.received) == ("no_endpoint", [])
    tester.does("PUT", "webhook-endpoint", {"url": ENDPOINT})
    assert tester.does("POST", f"webhooks/{webhook['id']}/redeliver")["state"] == "delivered"
    assert len(receiver.received) == 1


def test_fault_reorder_lets_the_next_one_overtake(merchant: Merchant, tester: Tester, receiver: Receiver) -> None:
    tester.orders_fault("webhook", "reorder")
    first = paid(merchant, tester)
    assert receiver.received == []
    second = paid(merchant, tester)
    assert receiver.order_ids == [second, first]
