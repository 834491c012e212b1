"""The page a customer pays on, as a browser without JavaScript uses it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


class Customer:
    """Looks at the page and presses its buttons."""

    def __init__(self, app: Flask) -> None:
        self._http: FlaskClient = app.test_client()

    def sees(self, checkout: str, status: int = 200) -> str:
        answer = self._http.get(f"/checkout/{checkout}")
        assert answer.status_code == status
        return answer.text

    def chooses(self, checkout: str, method: str) -> str:
        return self._posts(checkout, "method", {"method": method})

    def pays(self, checkout: str) -> str:
        return self._posts(checkout, "payment", {})

    def _posts(self, checkout: str, action: str, form: dict[str, str]) -> str:
        answer = self._http.post(f"/checkout/{checkout}/{action}", data=form)
        assert (answer.status_code, answer.location) == (303, f"/checkout/{checkout}")
        return self._http.get(answer.location).text


@pytest.fixture
def customer(sandbox: Flask) -> Customer:
    return Customer(sandbox)


def test_the_way_from_choosing_to_paid(merchant: Merchant, customer: Customer, receiver: Receiver) -> None:
    checkout = merchant.makes_checkout()
    assert "How would you like to pay?" in customer.sees(checkout)
    assert "Complete your payment" in customer.chooses(checkout, "us_qr")
    assert merchant.reads_deposit(checkout).data["status"] == "pending"
    assert "Payment received" in customer.pays(checkout)
    assert merchant.reads_deposit(checkout).data["status"] == "completed"
    assert receiver.order_ids == [checkout]


@pytest.mark.rule("An output amount is what arrives, exactly; each method makes its own amount of it, fees included.")
def test_every_usable_method_is_offered_with_its_amount_and_fee(merchant: Merchant, customer: Customer) -> None:
    answer = merchant.asks_checkout(inputCurrency="USD", outputAmount=100)
    seen = customer.sees(answer.data["id"]).replace("\N{NO-BREAK SPACE}", " ")
    assert re.findall(r'name="method" value="(\w+)"', seen) == ["us_bank_transfer", "us_qr", "us_usdc_polygon"]
    for amount, fee in (("101.32 USD", "1.32 USD"), ("101.32 USD", "1.32 USD"), ("100.46 USD", "0.46 USD")):
        assert amount in seen
        assert f"includes a fee of {fee}" in seen


@pytest.mark.parametrize("method", ["us_qr", "us_usdc_polygon"])
def test_qr_and_crypto_show_a_code(merchant: Merchant, customer: Customer, method: str) -> None:
    assert "<svg" in customer.chooses(merchant.makes_checkout(), method)


def test_a_bank_transfer_shows_the_account(merchant: Merchant, customer: Customer) -> None:
    seen = customer.chooses(merchant.makes_checkout(), "us_bank_transfer")
    assert "<svg" not in seen
    assert "Account number" in seen


def test_the_time_left_is_in_the_page_without_any_script(
    merchant: Merchant, tester: Tester, customer: Customer
) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=5, seconds=30)
    assert re.search(r">9:(2\d|30)</span>", customer.sees(checkout))


@pytest.mark.rule("A checkout's address is good for 15 minutes, to the second.")
@pytest.mark.rule("Not found, more than 15 minutes after its creation, means that a checkout was abandoned.")
@pytest.mark.rule("A method can be picked within the page's 15 minutes only.")
@pytest.mark.rule("The hosted page can be used for 15 minutes after the checkout was made.")
def test_after_15_minutes_without_a_method_the_page_has_expired(
    merchant: Merchant, tester: Tester, customer: Customer
) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=15)
    seen = customer.sees(checkout, status=410)
    assert "This page has expired" in seen
    assert "<form" not in seen
    customer.chooses(checkout, "us_qr")
    assert merchant.reads_deposit(checkout).code == 404


def test_money_that_was_on_its_way_may_arrive_late(merchant: Merchant, tester: Tester, customer: Customer) -> None:
    checkout = merchant.makes_checkout()
    customer.chooses(checkout, "us_qr")
    tester.advances(minutes=20)
    assert "This page has expired" in customer.sees(checkout)
    assert "Payment received" in customer.pays(checkout)


def test_a_closed_payment_offers_nothing(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(deposit_after_expiry="failed", late_payment="refused")
    checkout = Merchant(app).makes_checkout()
    Customer(app).chooses(checkout, "us_qr")
    Tester(app).advances(hours=25)
    seen = Customer(app).sees(checkout)
    assert "<strong>failed</strong>" in seen
    assert "<form" not in seen
    assert "Payment received" not in Customer(app).pays(checkout)


def test_an_unknown_checkout_is_a_404_page(customer: Customer) -> None:
    assert "No such checkout" in customer.sees("nothing", status=404)


def test_paying_twice_changes_nothing_the_second_time(
    merchant: Merchant, customer: Customer, receiver: Receiver
) -> None:
    checkout = merchant.makes_checkout()
    customer.chooses(checkout, "us_qr")
    customer.pays(checkout)
    first = merchant.reads_deposit(checkout).data
    assert "Payment received" in customer.pays(checkout)
    assert merchant.reads_deposit(checkout).data == first
    assert receiver.order_ids == [checkout]


def test_choosing_again_keeps_the_first_choice(merchant: Merchant, customer: Customer) -> None:
    checkout = merchant.makes_checkout()
    customer.chooses(checkout, "us_qr")
    customer.chooses(checkout, "us_bank_transfer")
    assert merchant.reads_deposit(checkout).data["paymentFiat"]["bankCode"] == "us_qr"


@pytest.mark.parametrize("method", ["", "us_wire", "sepa_transfer", "'; DROP TABLE"])
def test_a_method_that_is_not_offered_is_not_taken(merchant: Merchant, customer: Customer, method: str) -> None:
    checkout = merchant.makes_checkout()
    assert "How would you like to pay?" in customer.chooses(checkout, method)
    assert merchant.reads_deposit(checkout).code == 404


def test_paying_before_choosing_changes_nothing(merchant: Merchant, customer: Customer) -> None:
    checkout = merchant.makes_checkout()
    assert "How would you like to pay?" in customer.pays(checkout)
    assert merchant.reads_deposit(checkout).code == 404


def test_the_page_runs_under_a_strict_policy(sandbox: Flask, merchant: Merchant) -> None:
    checkout = merchant.makes_checkout()
    answer = sandbox.test_client().get(f"/checkout/{checkout}")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    (nonce,) = re.findall(r'<script nonce="([^"]+)"', answer.text)
    assert f"'nonce-{nonce}'" in policy
    assert nonce not in sandbox.test_client().get(f"/checkout/{checkout}").text


@pytest.mark.parametrize("method", ["us_qr", "us_bank_transfer", None])
def test_nothing_is_styled_or_scripted_inline(merchant: Merchant, customer: Customer, method: str | None) -> None:
    checkout = merchant.makes_checkout()
    seen = customer.chooses(checkout, method) if method else customer.sees(checkout)
    tags = _Tags()
    tags.feed(seen)
    assert not [tag for tag in tags.tags if "style" in tag[1] or any(name.startswith("on") for name in tag[1])]
