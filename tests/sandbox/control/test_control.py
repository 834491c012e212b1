"""The control interface: its access, each of its calls, and the bank that completes or refuses payouts."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Merchant, Receiver, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer


def test_host_names_of_this_machine_and_those_that_are_named_are_answered() -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, base_url="https://pay.example", allow_hosts=["sandbox.test"])
    for host in ("localhost", "[::1]:8790", "shop.localhost", "pay.example", "sandbox.test"):
        assert Tester(app).asks("GET", "clock", HTTP_HOST=host).http_status == 200


def test_reset_goes_back_to_the_start(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    start = tester.does("GET", "accounts/default/switches")
    first = merchant.makes_checkout()
    tester.pays(first)
    Visitor(sandbox).begins()
    tester.advances(hours=3)
    tester.orders_fault("POST /v1/checkout", "error")
    tester.does("POST", "accounts/default/switches", {"checkoutEnabled": False})
    tester.does("PUT", "webhook-endpoint", {"url": "http://127.0.0.1:7/other"})
    tester.does("POST", "reset")
    account = tester.makes_account("anna")
    tester.does("POST", "reset")
    assert tester.makes_account("anna") == account
    tester.does("POST", "reset")
    assert [tester.does("GET", path) for path in ("webhooks", "requests", "mails")] == [[], [], []]
    assert tester.does("GET", "accounts/default/switches") == start
    assert tester.offset() == 0
    assert tester.does("GET", "accounts/default")["webhookUrl"] == ENDPOINT
    assert merchant.makes_checkout() == first


def test_a_body_that_is_no_object_is_named_as_the_fault(tester: Tester) -> None:
    assert tester.refuses("POST", "clock", [1]) == (400, "body")


def test_picking_takes_the_first_usable_method_unless_named(merchant: Merchant, tester: Tester) -> None:
    for amount, named, method in (
        (5, None, "us_bank_transfer"),
        (60_000, None, "us_usdc_polygon"),
        (5, "us_qr", "us_qr"),
    ):
        sent = {"paymentMethod": named} if named else None
        picked = tester.does("POST", f"checkouts/{merchant.makes_checkout(amount)}/pick", sent)
        assert picked["paymentMethod"] == method


def test_an_action_that_the_state_of_a_checkout_does_not_allow_is_a_409(merchant: Merchant, tester: Tester) -> None:
    new, picked, paid = (merchant.makes_checkout() for _ in range(3))
    assert tester.picks(picked, "us_qr") == tester.picks(picked, "us_qr")
    tester.pays(paid)
    for checkout, action, body in (
        (picked, "pick", {"paymentMethod": "us_bank_transfer"}),
        (paid, "pay", None),
        (new, "fail", None),
        (paid, "fail", None),
        (picked, "leave", None),
    ):
        assert tester.asks("POST", f"checkouts/{checkout}/{action}", body).http_status == 409


@pytest.mark.parametrize("webhook", ["none", "sent"])
def test_a_bank_refuses_what_was_picked_and_not_paid(
    make_sandbox: MakeSandbox, receiver: Receiver, webhook: str
) -> None:
    app = make_sandbox(deposit_failure_webhook=webhook, deposit_after_expiry="expired")
    refused, expired = (Merchant(app).makes_checkout() for _ in range(2))
    for checkout in (refused, expired):
        Tester(app).picks(checkout)
    assert Tester(app).does("POST", f"checkouts/{refused}/fail")["deposit"]["status"] == "failed"
    Tester(app).advances(hours=25)
    assert receiver.order_ids == ([refused, expired] if webhook == "sent" else [])


def test_a_wrong_value_is_refused_by_name(merchant: Merchant, tester: Tester) -> None:
    pay = f"checkouts/{merchant.makes_checkout()}/pay"
    for path, field, values in (
        ("clock", "advanceSeconds", (-1, "5", None, 1e30)),
        (pay, "amount", (0, "5", 12.345)),
        ("disbursements/none/finish", "status", ("pending",)),
    ):
        for value in values:
            assert tester.refuses("POST", path, {field: value}) == (400, field), value


@pytest.mark.parametrize(
    ("options", "url", "status"),
    [
        ({}, "http://192.0.2.1/hook", 400),
        ({"allow_remote_webhooks": True}, "http://192.0.2.1/hook", 200),
        ({"allow_remote_control": True, "allow_remote_webhooks": True}, "http://127.0.0.1:5000/hook", 400),
    ],
    ids=["here", "allowed", "shared"],
)
def test_real_webhooks_have_a_reach(options: dict[str, Any], url: str, status: int) -> None:
    tester = Tester(create_sandbox(control_token=CONTROL_TOKEN, **options))
    assert tester.asks("PUT", "webhook-endpoint", {"url": url}).http_status == status


def test_the_bank_carries_out_what_is_pending_or_refuses_it(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    for status, webhook in (("completed", "sent"), ("failed", "none")):
        app = make_sandbox(disbursement_progress_webhook=webhook, forced_disbursement_status="completed")
        payer, tester = Payer(app), Tester(app)
        ids = payer.pays_one(), payer.sends_one()
        receiver.received.clear()
        for each in ids:
            assert tester.does("POST", f"disbursements/{each}/finish", {"status": status})["status"] == status
            again = tester.refuses("POST", f"disbursements/{each}/finish", {"status": "completed"})
            assert again == (409, "disbursement")
        assert payer.sees(ids[0])["activityHistory"][-1]["status"] == status
        assert [disbursement["status"] for disbursement in tester.does("GET", "disbursements")] == [status, status]
        payloads = [{"disbursementId": each, "status": status} for each in ids]
        assert receiver.received == (payloads if webhook == "sent" else [])
    assert tester.refuses("POST", "disbursements/none/finish", {"status": "failed"}) == (404, "disbursement")
