"""The hosted page's buttons for developers: what each makes of the deposit, and who may press them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.inspector.developer import text_of

each_database = pytest.mark.each_database

ACTS = ("less", "more", "later", "fail", "close")
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.7"}


class Developer:
    """Looks at the hosted page on the machine that the sandbox runs on, and presses its buttons."""

    def __init__(self, app: Flask) -> None:
        self.http = app.test_client()

    def opens(self, checkout: str, **environ: Any) -> str:
        return self.http.get(f"/checkout/{checkout}", environ_overrides=environ).text

    def chooses(self, checkout: str, method: str = "us_qr") -> None:
        self.http.post(f"/checkout/{checkout}/method", data={"method": method})

    def token(self, checkout: str) -> str:
        found: list[str] = re.findall(r'name="token" value="(\w+)"', self.opens(checkout))
        return found[0]

    def sends(self, checkout: str, act: str, token: str, headers: dict[str, str] | None = None) -> TestResponse:
        return self.http.post(f"/checkout/{checkout}/developer", data={"act": act, "token": token}, headers=headers)

    def presses(self, checkout: str, act: str) -> str:
        """The button that the page shows; gives what a reader sees next."""
        assert f'name="act" value="{act}"' in self.opens(checkout)
        answer = self.sends(checkout, act, self.token(checkout))
        assert (answer.status_code, answer.location) == (303, f"/checkout/{checkout}")
        return text_of(self.opens(checkout))


@pytest.fixture
def developer(sandbox: Flask) -> Developer:
    return Developer(sandbox)


@pytest.fixture
def picked(merchant: Merchant, developer: Developer) -> str:
    checkout = merchant.makes_checkout()
    developer.chooses(checkout)
    return checkout


def offset(tester: Tester) -> float:
    return float(tester.does("GET", "clock")["offsetSeconds"])


@pytest.mark.parametrize(("act", "amount"), [("less", "6.25"), ("more", "25.00")])
def test_another_amount_arrives(
    merchant: Merchant, developer: Developer, receiver: Receiver, picked: str, act: str, amount: str
) -> None:
    assert f"{amount} USD arrive" in text_of(developer.opens(picked))
    assert f"Paid {amount} USD" in developer.presses(picked, act)
    deposit = merchant.reads_deposit(picked).data
    assert (deposit["status"], deposit["inputAmount"]) == ("completed", Decimal(amount))
    assert receiver.order_ids == [picked]


@pytest.mark.parametrize(
    ("currency", "asked", "half"), [("USD", "12.51", "6.25"), ("JPY", "3", "1"), ("eth-ethereum", "0.002", "0.001")]
)
def test_half_is_whole_units_of_the_currency(
    merchant: Merchant, developer: Developer, currency: str, asked: str, half: str
) -> None:
    checkout = merchant.makes_checkout(float(asked), currency)
    code = {"USD": "us_qr", "JPY": "jp_qr", "eth-ethereum": "ethereum_eth"}[currency]
    developer.chooses(checkout, code)
    developer.presses(checkout, "less")
    assert merchant.reads_deposit(checkout).data["inputAmount"] == Decimal(half)


def test_a_button_that_moves_the_clock_says_that_it_does_so_for_everybody(
    merchant: Merchant, developer: Developer, picked: str
) -> None:
    words = "clock on, for every checkout and everybody"
    assert developer.opens(merchant.makes_checkout()).count(words) == 1, "Close"
    assert developer.opens(picked).count(words) == 2, "Close, and Pay later"


@each_database
def test_the_money_arrives_after_the_pages_end(
    merchant: Merchant, tester: Tester, developer: Developer, receiver: Receiver, picked: str
) -> None:
    created = merchant.reads_deposit(picked).data["createdAt"]
    assert "Payment received" in developer.presses(picked, "later")
    deposit = merchant.reads_deposit(picked).data
    assert (deposit["status"], deposit["inputAmount"]) == ("completed", Decimal("12.50"))
    assert 895 <= offset(tester) <= 901
    assert deposit["updatedAt"] > created
    assert receiver.order_ids == [picked]


def test_a_service_that_takes_no_late_payment_gets_none(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(deposit_lifetime="checkout_end", deposit_after_expiry="expired", late_payment="refused")
    merchant, developer = Merchant(app), Developer(app)
    checkout = merchant.makes_checkout()
    developer.chooses(checkout)
    assert "This payment is expired" in developer.presses(checkout, "later")
    assert merchant.reads_deposit(checkout).data["status"] == "expired"


@each_database
@pytest.mark.parametrize("minutes", [0, 20], ids=["in-time", "late"])
def test_the_payment_fails(
    merchant: Merchant, tester: Tester, developer: Developer, receiver: Receiver, picked: str, minutes: int
) -> None:
    tester.advances(minutes=minutes)
    assert "This payment is failed" in developer.presses(picked, "fail")
    deposit = merchant.reads_deposit(picked).data
    assert (deposit["status"], deposit["activityHistory"][-1]["status"]) == ("failed", "failed")
    assert receiver.order_ids == [picked]
    assert 'name="act"' not in developer.opens(picked)


def test_the_page_is_closed_before_a_method_was_chosen(
    merchant: Merchant, tester: Tester, developer: Developer, receiver: Receiver
) -> None:
    checkout = merchant.makes_checkout()
    assert "This page has expired" in developer.presses(checkout, "close")
    assert merchant.reads_deposit(checkout).code == 404
    assert 895 <= offset(tester) <= 901
    assert receiver.order_ids == []
    assert 'name="act"' not in developer.opens(checkout)


def test_the_page_is_closed_with_the_payment_pending(
    merchant: Merchant, developer: Developer, receiver: Receiver, picked: str
) -> None:
    assert "This page has expired" in developer.presses(picked, "close")
    assert merchant.reads_deposit(picked).data["status"] == "pending"
    assert receiver.order_ids == []


@each_database
@pytest.mark.parametrize("act", ACTS)
def test_nothing_happens_to_a_checkout_that_was_paid_meanwhile(
    merchant: Merchant, tester: Tester, developer: Developer, receiver: Receiver, picked: str, act: str
) -> None:
    token = developer.token(picked)
    tester.pays(picked)
    deposit = merchant.reads_deposit(picked).data
    assert developer.sends(picked, act, token).status_code == 303
    assert merchant.reads_deposit(picked).data == deposit
    assert offset(tester) == 0
    assert receiver.order_ids == [picked]


@pytest.mark.parametrize("act", ["less", "more", "later", "fail"])
def test_money_is_only_sent_once_a_method_is_chosen(
    merchant: Merchant, tester: Tester, developer: Developer, act: str
) -> None:
    checkout = merchant.makes_checkout()
    assert f'value="{act}"' not in developer.opens(checkout)
    assert developer.sends(checkout, act, developer.token(checkout)).status_code == 303
    assert merchant.reads_deposit(checkout).code == 404
    assert offset(tester) == 0


def test_a_word_or_checkout_that_does_not_exist(developer: Developer, picked: str) -> None:
    token = developer.token(picked)
    assert developer.sends(picked, "double", token).status_code == 400
    assert [developer.sends("nothing", act, token).status_code for act in ACTS] == [303] * len(ACTS)


@pytest.mark.parametrize("act", ACTS)
def test_other_machines_see_the_customers_buttons_only(
    merchant: Merchant, tester: Tester, developer: Developer, picked: str, act: str
) -> None:
    seen = developer.opens(picked, **ELSEWHERE)
    assert 'name="token"' not in seen
    assert 'name="act"' not in seen
    assert "inspector" not in seen
    assert "Pay 12.50" in text_of(seen)
    data = {"act": act, "token": developer.token(picked)}
    answer = developer.http.post(f"/checkout/{picked}/developer", data=data, environ_overrides=ELSEWHERE)
    assert answer.status_code == 403
    assert merchant.reads_deposit(picked).data["status"] == "pending"
    assert offset(tester) == 0


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="same-site"),
        pytest.param({"Origin": "https://evil.example"}, id="foreign-origin"),
        pytest.param({"Origin": "http://localhost:1"}, id="other-port"),
    ],
)
def test_a_form_of_another_page_is_refused(
    merchant: Merchant, tester: Tester, developer: Developer, picked: str, headers: dict[str, str]
) -> None:
    token = developer.token(picked)
    assert [developer.sends(picked, act, token, headers).status_code for act in ACTS] == [403] * len(ACTS)
    assert merchant.reads_deposit(picked).data["status"] == "pending"
    assert offset(tester) == 0


def test_the_pages_token_opens_nothing_else_and_no_other_token_opens_it(
    merchant: Merchant, tester: Tester, developer: Developer, picked: str
) -> None:
    levers = developer.http.get("/inspector/levers").text
    inspectors = re.findall(r'name="token" value="(\w+)"', levers)[0]
    assert [developer.sends(picked, "close", token).status_code for token in ("", "wrong", inspectors)] == [403] * 3
    moved = developer.http.post(
        "/inspector/clock", data={"token": developer.token(picked), "amount": "960", "unit": "seconds"}
    )
    assert moved.status_code == 403
    assert offset(tester) == 0
    assert merchant.reads_deposit(picked).data["status"] == "pending"
