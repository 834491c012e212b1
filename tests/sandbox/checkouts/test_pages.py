"""The answer of a new checkout: its currency, the host of its page, and how long a method can be picked."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import Merchant, Tester


@pytest.mark.rule("A client sends customers to the address it was given and builds none; its host may be another one.")
@pytest.mark.parametrize("base_url", ["http://127.0.0.1:8791", "http://pay.localhost:9999/"])
def test_the_host_of_the_hosted_page_is_that_of_the_environment(base_url: str) -> None:
    app = create_sandbox(base_url=base_url)
    answer = Merchant(app).asks_checkout(inputCurrency="USD", inputAmount=5)
    assert answer.data["url"] == f"{base_url.rstrip('/')}/checkout/{answer.data['id']}"


def test_a_method_can_be_picked_until_the_last_second_of_15_minutes(
    sandbox: Flask, merchant: Merchant, tester: Tester
) -> None:
    clock = sandbox.extensions["paycheckout_sandbox"].clock
    still = clock.machine()
    clock.machine = lambda: still
    in_time, late = merchant.makes_checkout(), merchant.makes_checkout()
    tester.advances(seconds=899)
    assert tester.picks(in_time)["status"] == "pending"
    tester.advances(seconds=1)
    assert tester.asks("POST", f"checkouts/{late}/pick").http_status == 409
    assert merchant.reads_deposit(late).code == 404
