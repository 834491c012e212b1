"""A clock that stands still until it is advanced."""

from __future__ import annotations

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.testing import Sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester


def test_a_frozen_clock_stands_until_it_is_advanced_and_again_after_a_reset() -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, seed=1, clock="frozen@2026-01-01T01:00:00+01:00")
    merchant, tester = Merchant(app), Tester(app)
    for _ in range(2):
        assert tester.does("GET", "clock") == {"now": "2026-01-01T00:00:00.000Z", "offsetSeconds": 0}
        checkout = merchant.makes_checkout()
        tester.advances(minutes=10)
        assert tester.pays(checkout)["createdAt"] == "2026-01-01T00:10:00.000Z"
        # Signed by the machine's time.
        assert merchant.reads_deposit(checkout).data["updatedAt"] == "2026-01-01T00:10:00.000Z"
        tester.does("POST", "reset")


def test_while_the_clock_stands_webhooks_are_listed_in_the_order_in_which_they_were_caused() -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, seed=1, clock="frozen@2026-01-01T00:00:00Z")
    merchant, tester = Merchant(app), Tester(app)
    paid = [tester.pays(merchant.makes_checkout())["depositId"] for _ in range(5)]
    assert [webhook["orderId"] for webhook in tester.does("GET", "webhooks")] == paid


def test_while_the_clock_stands_a_feed_goes_on_after_a_reset_and_a_restore() -> None:
    sandbox = Sandbox(clock="frozen@2026-01-01T00:00:00Z")
    snapshot = sandbox.snapshot()
    for again in (lambda: sandbox.control("POST", "reset"), lambda: sandbox.restore(snapshot)):
        for _ in range(2):
            sandbox.control("POST", "trigger", event="paid")
        cursor = sandbox.control("GET", "events")["cursor"]
        again()
        paid = sandbox.control("POST", "trigger", event="paid")["id"]
        assert paid in [told["about"] for told in sandbox.control("GET", "events", after=cursor)["events"]]
