"""The control interface: who may use it, and each of its levers."""

from __future__ import annotations

import pytest
from flask import Flask
from sqlalchemy import func, select

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Merchant, Tester


@pytest.mark.parametrize("token", ["", "wrong", CONTROL_TOKEN + "x"])
def test_the_control_token_is_required(sandbox: Flask, token: str) -> None:
    refused = Tester(sandbox, token).asks("GET", "clock")
    assert refused.http_status == 401
    assert refused.body["error"]["field"] == "X-Sandbox-Control"


def test_the_token_is_made_up_when_none_is_given() -> None:
    one, other = (create_sandbox() for _ in range(2))
    assert Tester(one, "").asks("GET", "clock").http_status == 401
    assert one.extensions["paycheckout_sandbox"].control_token != other.extensions["paycheckout_sandbox"].control_token


def test_other_machines_are_refused_unless_allowed(tester: Tester) -> None:
    assert tester.asks("GET", "clock", REMOTE_ADDR="192.0.2.7").http_status == 403
    assert tester.asks("GET", "clock", REMOTE_ADDR="::1").http_status == 200
    open_to_all = create_sandbox(control_token=CONTROL_TOKEN, allow_remote_control=True)
    assert Tester(open_to_all).asks("GET", "clock", REMOTE_ADDR="192.0.2.7").http_status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:8790", 200),
        ("[::1]:8790", 200),
        ("shop.localhost", 200),
        ("pay.example", 200),
        ("sandbox.test", 200),
        ("evil.example", 400),
        ("localhost.evil.example", 400),
        ("[::1", 400),
        ("", 400),
    ],
)
def test_only_known_host_names_are_answered(host: str, status: int) -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, base_url="https://pay.example", allow_hosts=["sandbox.test"])
    assert Tester(app).asks("GET", "clock", HTTP_HOST=host).http_status == status


def test_no_other_origin_may_read_answers(sandbox: Flask) -> None:
    answer = sandbox.test_client().get("/_sandbox/clock", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers.keys() if name.startswith("Access-Control")]  # noqa: SIM118


def test_unknown_calls_are_answered_in_json(tester: Tester) -> None:
    assert tester.asks("GET", "nothing").http_status == 404
    assert tester.asks("DELETE", "clock").http_status == 405


def test_the_clock_tells_and_advances(tester: Tester) -> None:
    before = tester.does("GET", "clock")
    assert before["offsetSeconds"] == 0
    tester.advances(minutes=16)
    after = tester.does("GET", "clock")
    assert after["offsetSeconds"] == 960
    assert after["now"] > before["now"]
    assert after["now"].endswith("Z")


@pytest.mark.parametrize("seconds", [-1, "5", None, True, 1e30])
def test_the_clock_only_goes_forward_and_not_for_ever(tester: Tester, seconds: object) -> None:
    refused = tester.asks("POST", "clock", {"advanceSeconds": seconds})
    assert (refused.http_status, refused.body["error"]["field"]) == (400, "advanceSeconds")


def test_reset_goes_back_to_the_start(merchant: Merchant, tester: Tester) -> None:
    start = tester.does("GET", "account")
    first = merchant.makes_checkout()
    tester.pays(first)
    tester.advances(hours=3)
    tester.orders_fault("POST /v1/checkout", "error")
    tester.does("POST", "account", {"checkoutEnabled": False})
    tester.does("PUT", "webhook-endpoint", {"url": "http://127.0.0.1:7/other"})
    tester.does("POST", "reset")
    assert tester.webhooks() == []
    assert tester.requests() == []
    assert tester.does("GET", "account") == start
    assert tester.does("GET", "clock")["offsetSeconds"] == 0
    assert tester.does("GET", "webhook-endpoint") == {"url": ENDPOINT}
    assert merchant.makes_checkout() == first


def test_picking_takes_the_first_usable_method_unless_named(merchant: Merchant, tester: Tester) -> None:
    assert tester.does("POST", f"checkouts/{merchant.makes_checkout()}/pick")["paymentMethod"] == "us_bank_transfer"
    dear = merchant.makes_checkout(60_000)
    assert tester.does("POST", f"checkouts/{dear}/pick")["paymentMethod"] == "us_usdc_polygon"
    body = {"paymentMethod": "us_qr"}
    assert tester.does("POST", f"checkouts/{merchant.makes_checkout()}/pick", body)["paymentMethod"] == "us_qr"


@pytest.mark.parametrize("method", ["nothing", "us_wire", "sepa_transfer"])
def test_only_a_usable_method_can_be_picked(merchant: Merchant, tester: Tester, method: str) -> None:
    checkout = merchant.makes_checkout(2000)
    refused = tester.asks("POST", f"checkouts/{checkout}/pick", {"paymentMethod": method})
    assert (refused.http_status, refused.body["error"]["field"]) == (400, "paymentMethod")
    assert merchant.reads_deposit(checkout).code == 404
    assert tester.picks(checkout)["status"] == "pending"


def test_the_same_method_may_be_picked_again_but_no_other(merchant: Merchant, tester: Tester) -> None:
    checkout = merchant.makes_checkout()
    assert tester.picks(checkout, "us_qr") == tester.picks(checkout, "us_qr")
    assert tester.asks("POST", f"checkouts/{checkout}/pick", {"paymentMethod": "us_bank_transfer"}).http_status == 409


@pytest.mark.parametrize("action", ["pick", "pay", "fail", "leave"])
def test_an_unknown_checkout_is_a_404(tester: Tester, action: str) -> None:
    assert tester.asks("POST", f"checkouts/nothing/{action}").http_status == 404


@pytest.mark.parametrize("action", ["pick", "pay"])
def test_after_15_minutes_nothing_can_be_picked(merchant: Merchant, tester: Tester, action: str) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=15)
    refused = tester.asks("POST", f"checkouts/{checkout}/{action}")
    assert (refused.http_status, refused.body["error"]["field"]) == (409, "checkout")
    assert merchant.reads_deposit(checkout).message == "Deposit not found"


def test_paying_twice_is_a_409(merchant: Merchant, tester: Tester) -> None:
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    assert tester.asks("POST", f"checkouts/{checkout}/pay").http_status == 409


def test_a_bank_refuses_what_was_picked_and_not_paid(merchant: Merchant, tester: Tester) -> None:
    checkout = merchant.makes_checkout()
    assert tester.asks("POST", f"checkouts/{checkout}/fail").http_status == 409
    tester.picks(checkout)
    assert tester.does("POST", f"checkouts/{checkout}/fail")["deposit"]["status"] == "failed"
    paid = merchant.makes_checkout()
    tester.pays(paid)
    assert tester.asks("POST", f"checkouts/{paid}/fail").http_status == 409


def test_who_leaves_without_picking_lets_the_pages_time_run_out(merchant: Merchant, tester: Tester) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=10)
    assert 900 < tester.does("POST", f"checkouts/{checkout}/leave")["offsetSeconds"] <= 902
    assert tester.asks("POST", f"checkouts/{checkout}/pick").http_status == 409
    assert merchant.reads_deposit(checkout).message == "Deposit not found"
    picked = merchant.makes_checkout()
    tester.picks(picked)
    assert tester.asks("POST", f"checkouts/{picked}/leave").http_status == 409


@pytest.mark.parametrize("amount", [0, -1, "5", True, "x", 12.345])
def test_a_payment_is_a_positive_number(merchant: Merchant, tester: Tester, amount: object) -> None:
    refused = tester.asks("POST", f"checkouts/{merchant.makes_checkout()}/pay", {"amount": amount})
    assert (refused.http_status, refused.body["error"]["field"]) == (400, "amount")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/x",
        "nonsense",
        "http://",
        "http://user:pass@127.0.0.1/",
        "http://127.0.0.1/\r\nX: y",
        5,
        "http://[::1",
    ],
)
def test_a_webhook_endpoint_is_an_http_address(tester: Tester, url: object) -> None:
    refused = tester.asks("PUT", "webhook-endpoint", {"url": url})
    assert (refused.http_status, refused.body["error"]["field"]) == (400, "url")


@pytest.mark.parametrize("url", ["http://192.0.2.1/hook", "http://shop.example/hook", "http://169.254.169.254/"])
def test_real_webhooks_stay_on_this_machine_unless_allowed(url: str) -> None:
    closed = Tester(create_sandbox(control_token=CONTROL_TOKEN))
    assert closed.asks("PUT", "webhook-endpoint", {"url": url}).http_status == 400
    opened = Tester(create_sandbox(control_token=CONTROL_TOKEN, allow_remote_webhooks=True))
    assert opened.does("PUT", "webhook-endpoint", {"url": url}) == {"url": url}


@pytest.mark.parametrize(
    "body",
    [
        {"paymentMethods": [{"code": "nothing", "enabled": True}]},
        {"paymentMethods": [{"code": "us_qr"}]},
        {"paymentMethods": "us_qr"},
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


def test_the_request_log_masks_secrets(merchant: Merchant, tester: Tester) -> None:
    merchant.asks_checkout_raw(b'{"password": "hunter2", "otp":"123456", "accessToken": "tok\\"en", "a": "kept"}')
    text = tester.requests()[0]["requestBody"]
    assert "kept" in text
    assert not [secret for secret in ("hunter2", "123456", "tok") if secret in text]


def test_the_request_log_keeps_what_was_answered(merchant: Merchant, tester: Tester) -> None:
    merchant.makes_checkout()
    merchant.reads_deposit("none")
    newest, oldest = tester.requests()
    assert (newest["method"], newest["target"], newest["status"]) == ("GET", "/v1/deposit/none", 404)
    assert oldest["requestBody"] == '{"inputCurrency": "USD", "inputAmount": 12.5}'
    assert '"statusCode":200' in oldest["answerBody"]


def test_the_request_log_is_bounded(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    for _ in range(1100):
        merchant.calls_raw("GET", "/v1/nothing")
    with sandbox.app_context(), transaction() as session:
        assert session.execute(select(func.count()).select_from(LoggedRequest)).scalar_one() == 1000
    assert len(tester.requests()) == 1000
