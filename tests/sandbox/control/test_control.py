"""The control interface: who may use it, each of its calls, and the bank that pays out or refuses to."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Merchant, Receiver, Tester, call
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.world.test_databases import at_once

PAID, PICKED = "paid", "picked"


def test_other_machines_are_refused_unless_allowed(tester: Tester) -> None:
    assert tester.asks("GET", "clock", REMOTE_ADDR="192.0.2.7").http_status == 403
    assert tester.asks("GET", "clock", REMOTE_ADDR="::1").http_status == 200
    open_to_all = create_sandbox(control_token=CONTROL_TOKEN, allow_remote_control=True)
    assert Tester(open_to_all).asks("GET", "clock", REMOTE_ADDR="192.0.2.7").http_status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((known, 200) for known in ("localhost", "[::1]:8790", "shop.localhost", "pay.example", "sandbox.test")),
        ("evil.example", 400),
    ],
)
def test_only_known_host_names_are_answered(host: str, status: int) -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, base_url="https://pay.example", allow_hosts=["sandbox.test"])
    assert Tester(app).asks("GET", "clock", HTTP_HOST=host).http_status == status


def test_reset_goes_back_to_the_start(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    start = tester.does("GET", "account")
    first = merchant.makes_checkout()
    tester.pays(first)
    Visitor(sandbox).begins()
    tester.advances(hours=3)
    tester.orders_fault("POST /v1/checkout", "error")
    tester.does("POST", "account", {"checkoutEnabled": False})
    tester.does("PUT", "webhook-endpoint", {"url": "http://127.0.0.1:7/other"})
    tester.does("POST", "reset")
    assert [tester.does("GET", path) for path in ("webhooks", "requests", "mails")] == [[], [], []]
    assert tester.does("GET", "account") == start
    assert tester.offset() == 0
    assert tester.does("GET", "webhook-endpoint") == {"url": ENDPOINT}
    assert merchant.makes_checkout() == first


def test_picking_takes_the_first_usable_method_unless_named(merchant: Merchant, tester: Tester) -> None:
    for amount, named, method in ((5, "", "us_bank_transfer"), (60_000, "", "us_usdc_polygon"), (5, "us_qr", "us_qr")):
        body = {"paymentMethod": named} if named else None
        picked = tester.does("POST", f"checkouts/{merchant.makes_checkout(amount)}/pick", body)
        assert picked["paymentMethod"] == method


@pytest.mark.parametrize(
    ("state", "action", "body"),
    [
        pytest.param(PICKED, "pick", {"paymentMethod": "us_bank_transfer"}, id="another-method"),
        pytest.param(PAID, "pay", None, id="paid-twice"),
        pytest.param(None, "fail", None, id="nothing-to-refuse"),
        pytest.param(PAID, "fail", None, id="refused-after-payment"),
        pytest.param(PICKED, "leave", None, id="left-after-picking"),
    ],
)
def test_what_the_state_of_a_checkout_does_not_allow_is_a_409(
    merchant: Merchant, tester: Tester, state: str | None, action: str, body: Any
) -> None:
    checkout = merchant.makes_checkout()
    if state is not None:
        assert tester.picks(checkout, "us_qr") == tester.picks(checkout, "us_qr")
    if state == PAID:
        tester.pays(checkout)
    assert tester.asks("POST", f"checkouts/{checkout}/{action}", body).http_status == 409


@pytest.mark.each_database
def test_a_used_reference_is_refused_however_it_is_picked(merchant: Merchant, tester: Tester) -> None:
    first, second, third, fourth = (merchant.makes_checkout() for _ in range(4))
    tester.picks(first, reference="r/1 ü")
    assert tester.refuses("POST", f"checkouts/{second}/pick", {"reference": "r/1 ü"}) == (409, "checkout")
    assert tester.refuses("POST", f"checkouts/{second}/pick", {"reference": first}) == (409, "checkout")
    assert merchant.reads_deposit(second).code == 404
    assert merchant.reads_deposit("r%2F1%20%C3%BC").data["depositId"] == first
    # Nor does a second pick change the reference, or say that it did.
    assert tester.picks(first, reference="r/1 ü")["depositId"] == first
    assert tester.refuses("POST", f"checkouts/{first}/pick", {"reference": "r-2"}) == (409, "checkout")
    picks = [partial(tester.asks, "POST", f"checkouts/{one}/pick", {"reference": "r-3"}) for one in (third, fourth)]
    assert sorted(answer.http_status for answer in at_once(*picks)) == [200, 409]


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


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", f"checkouts/nothing/{action}") for action in ("pick", "pay", "fail", "leave")),
        *(("POST", "webhooks/nothing/redeliver"), ("GET", "nothing")),
    ],
)
def test_what_does_not_exist_is_a_404(tester: Tester, method: str, path: str) -> None:
    assert tester.asks(method, path).http_status == 404


@pytest.mark.parametrize(
    ("method", "path", "field", "values"),
    [
        ("POST", "clock", "advanceSeconds", [-1, "5", None, True, 1e30]),
        ("POST", "checkouts/{}/pay", "amount", [0, -1, "5", True, "x", 12.345]),
        ("PUT", "webhook-endpoint", "url", ["ftp://127.0.0.1/x", 5]),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    merchant: Merchant, tester: Tester, method: str, path: str, field: str, values: list[Any]
) -> None:
    checkout = merchant.makes_checkout()
    for value in values:
        assert tester.refuses(method, path.format(checkout), {field: value}) == (400, field), value


def test_real_webhooks_stay_on_this_machine_unless_allowed() -> None:
    url = "http://192.0.2.1/hook"
    closed = Tester(create_sandbox(control_token=CONTROL_TOKEN))
    assert closed.asks("PUT", "webhook-endpoint", {"url": url}).http_status == 400
    opened = Tester(create_sandbox(control_token=CONTROL_TOKEN, allow_remote_webhooks=True))
    assert opened.does("PUT", "webhook-endpoint", {"url": url}) == {"url": url}


@pytest.mark.parametrize(
    "body",
    [
        {"paymentMethods": [{"code": "nothing", "enabled": True}]},
        {"conversions": [{"inputCurrency": "USD", "outputCurrency": "XXX", "enabled": True}]},
        {"checkoutEnabled": "no"},
    ],
)
def test_switching_refuses_what_does_not_exist_and_then_changes_nothing(
    tester: Tester, body: dict[str, object]
) -> None:
    before = tester.does("GET", "account")
    assert tester.asks("POST", "account", {"checkoutEnabled": False} | body).http_status == 400
    assert tester.does("GET", "account") == before


def test_the_request_log_is_bounded(sandbox: Flask, tester: Tester) -> None:
    for _ in range(1100):
        call(sandbox, "GET", "/v1/nothing")
    with sandbox.app_context(), transaction() as session:
        assert session.execute(select(func.count()).select_from(LoggedRequest)).scalar_one() == 1000
    assert len(tester.requests()) == 1000


@pytest.mark.parametrize(("status", "webhook"), [("completed", "sent"), ("failed", "none")])
def test_the_bank_carries_out_what_is_pending_or_refuses_it(
    make_sandbox: MakeSandbox, receiver: Receiver, status: str, webhook: str
) -> None:
    app = make_sandbox(disbursement_progress_webhook=webhook)
    payer, tester = Payer(app), Tester(app)
    made = payer.pays_one(), payer.sends_one()
    for each in made:
        assert tester.does("POST", f"disbursements/{each}/finish", {"status": status})["status"] == status
    assert payer.sees(made[0])["activityHistory"][-1]["status"] == status
    assert [one["status"] for one in tester.does("GET", "disbursements")] == [status, status]
    told = [{"disbursementId": each, "status": status} for each in made]
    assert receiver.received == (told if webhook == "sent" else [])


def test_the_bank_acts_once_whatever_a_merchant_may_force(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(forced_disbursement_status="completed")
    payer, tester = Payer(sandbox), Tester(sandbox)
    made = payer.pays_one()
    assert tester.does("POST", f"disbursements/{made}/finish", {"status": "failed"})["status"] == "failed"
    refused = tester.refuses("POST", f"disbursements/{made}/finish", {"status": "completed"})
    assert refused == (409, "disbursement")
    assert payer.sees(made)["status"] == "failed"


def test_a_bank_completes_a_transfer_that_exists_or_fails_it(payer: Payer, tester: Tester) -> None:
    made = payer.pays_one()
    for status in ("pending", "paid", None, 5):
        assert tester.refuses("POST", f"disbursements/{made}/finish", {"status": status}) == (400, "status")
    assert tester.refuses("POST", "disbursements/none/finish", {"status": "failed"}) == (404, "disbursement")
