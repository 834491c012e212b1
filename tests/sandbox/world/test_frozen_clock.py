"""A clock that stands still until it is advanced."""

from __future__ import annotations

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester


def test_a_frozen_clock_stands_until_it_is_advanced_and_again_after_a_reset() -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, seed=1, clock="frozen@2026-01-01T01:00:00+01:00")
    merchant, tester = Merchant(app), Tester(app)
    for _ in range(2):
        assert tester.does("GET", "clock") == {"now": "2026-01-01T00:00:00.000Z", "offsetSeconds": 0}
        checkout = merchant.makes_checkout()
        tester.advances(minutes=10)
        assert tester.pays(checkout)["createdAt"] == "2026-01-01T00:10:00.000Z"
        # The call is signed with the machine's time.
        assert merchant.reads_deposit(checkout).data["updatedAt"] == "2026-01-01T00:10:00.000Z"
        tester.does("POST", "reset")
