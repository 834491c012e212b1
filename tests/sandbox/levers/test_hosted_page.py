"""The page a customer pays on, as a browser without JavaScript uses it."""

from __future__ import annotations

import re

import pytest

from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.levers.customer import Customer


def test_the_way_from_choosing_to_paid_which_is_gone_once(
    merchant: Merchant, customer: Customer, receiver: Receiver
) -> None:
    checkout = merchant.makes_checkout()
    assert "How would you like to pay?" in customer.pays(checkout)
    assert merchant.reads_deposit(checkout).code == 404
    assert "Complete your payment" in customer.chooses(checkout)
    assert merchant.reads_deposit(checkout).data["status"] == "pending"
    assert "Payment received" in customer.pays(checkout)
    paid = merchant.reads_deposit(checkout).data
    assert paid["status"] == "completed"
    assert "Payment received" in customer.pays(checkout)
    assert merchant.reads_deposit(checkout).data == paid
    assert receiver.order_ids == [checkout]


@pytest.mark.rule("An output amount is what arrives, exactly; each method makes its own amount of it, fees included.")
def test_every_usable_method_is_offered_with_its_amount_and_fee(merchant: Merchant, customer: Customer) -> None:
    answer = merchant.asks_checkout(inputCurrency="USD", outputAmount=100)
    seen = customer.opens(answer.data["id"]).replace("\N{NO-BREAK SPACE}", " ")
    assert re.findall(r'name="method" value="(\w+)"', seen) == ["us_bank_transfer", "us_qr", "us_usdc_polygon"]
    for amount, fee in (("101.32 USD", "1.32 USD"), ("100.46 USD", "0.46 USD")):
        assert amount in seen
        assert f"includes a fee of {fee}" in seen


@pytest.mark.parametrize(
    ("method", "has_code"), [("us_qr", True), ("us_usdc_polygon", True), ("us_bank_transfer", False)]
)
def test_a_method_shows_a_code_or_the_account(
    merchant: Merchant, customer: Customer, method: str, has_code: bool
) -> None:
    seen = customer.chooses(merchant.makes_checkout(), method)
    assert ("<svg" in seen) is has_code
    assert has_code or "Account number" in seen


def test_the_time_left_is_in_the_page_without_any_script(
    merchant: Merchant, tester: Tester, customer: Customer
) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=5, seconds=30)
    assert re.search(r">9:(2\d|30)</span>", customer.opens(checkout))


@pytest.mark.rule("A checkout's address is good for 15 minutes, to the second.")
@pytest.mark.rule("Not found, more than 15 minutes after its creation, means that a checkout was abandoned.")
@pytest.mark.rule("A method can be picked within the page's 15 minutes only.")
@pytest.mark.rule("The hosted page can be used for 15 minutes after the checkout was made.")
def test_after_15_minutes_without_a_method_the_page_has_expired(
    merchant: Merchant, tester: Tester, customer: Customer
) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=15)
    assert "<form" not in customer.opens(checkout, status=410)
    customer.chooses(checkout)
    assert merchant.reads_deposit(checkout).code == 404


def test_money_that_was_on_its_way_may_arrive_late(tester: Tester, customer: Customer, picked: str) -> None:
    tester.advances(minutes=20)
    assert "This page has expired" in customer.opens(picked)
    assert "Payment received" in customer.pays(picked)


def test_a_closed_payment_offers_nothing(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(deposit_after_expiry="failed", late_payment="refused")
    checkout = Merchant(app).makes_checkout()
    Customer(app).chooses(checkout)
    Tester(app).advances(hours=25)
    assert "<form" not in Customer(app).opens(checkout)
    assert "<strong>failed</strong>" in Customer(app).pays(checkout)


def test_an_unknown_checkout_is_a_404_page(customer: Customer) -> None:
    customer.opens("nothing", status=404)


def test_a_method_that_is_not_offered_is_not_taken(merchant: Merchant, customer: Customer) -> None:
    checkout = merchant.makes_checkout()
    for method in ("", "us_wire", "'; DROP TABLE"):
        assert "How would you like to pay?" in customer.chooses(checkout, method)
    assert merchant.reads_deposit(checkout).code == 404


def test_choosing_again_keeps_the_first_choice(merchant: Merchant, customer: Customer, picked: str) -> None:
    customer.chooses(picked, "us_bank_transfer")
    assert merchant.reads_deposit(picked).data["paymentFiat"]["bankCode"] == "us_qr"
