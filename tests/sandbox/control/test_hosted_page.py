"""The page a customer pays on, without JavaScript, and its buttons for developers."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from flask import Flask

from flask_paycheckout.sandbox.control.hosted_page import ACTS
from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.control.customer import Customer


@pytest.fixture
def customer(sandbox: Flask) -> Customer:
    return Customer(sandbox)


@pytest.fixture
def picked(merchant: Merchant, customer: Customer) -> str:
    """A checkout of 12.50 USD whose customer has chosen a method."""
    checkout = merchant.makes_checkout()
    customer.chooses(checkout)
    return checkout


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


def test_every_usable_method_is_offered_with_its_amount_and_fee(merchant: Merchant, customer: Customer) -> None:
    answer = merchant.asks_checkout(inputCurrency="USD", outputAmount=100)
    seen = customer.opens(answer.data["id"]).replace("\N{NO-BREAK SPACE}", " ")
    assert re.findall(r'name="method" value="(\w+)"', seen) == ["us_bank_transfer", "us_qr", "us_usdc_polygon"]
    for amount, fee in (("101.32 USD", "1.32 USD"), ("100.46 USD", "0.46 USD")):
        assert amount in seen
        assert f"includes a fee of {fee}" in seen


def test_a_customer_goes_back_to_the_methods_until_the_money_arrives(
    merchant: Merchant, tester: Tester, customer: Customer, picked: str
) -> None:
    page = customer.opens(picked)
    assert ("Sandbox Shop" in page, "<svg" in page) == (True, True), "its code to scan"
    methods = customer.http.get(f"/checkout/{picked}?methods").text
    assert re.findall(r'value="(\w+)" required checked', methods) == ["us_qr"]
    for method, text, code in (
        ("us_usdc_polygon", "To the address", True),
        ("us_bank_transfer", "Account number", False),
    ):
        page = customer.chooses(picked, method)
        assert (text in page, "<svg" in page) == (True, code)
    deposit = merchant.reads_deposit(picked).data
    assert (deposit["status"], deposit["inputAmount"]) == ("pending", Decimal("12.50"))
    assert [entry["activity"] for entry in deposit["activityHistory"]].count("Payment method changed") == 2
    tester.pays(picked)
    assert "Payment received" in customer.chooses(picked, "us_qr")
    assert merchant.reads_deposit(picked).data["status"] == "completed"


def test_after_15_minutes_without_a_method_the_page_has_expired(
    merchant: Merchant, tester: Tester, customer: Customer
) -> None:
    checkout, in_time = merchant.makes_checkout(), merchant.makes_checkout()
    tester.advances(seconds=899)
    assert "Complete your payment" in customer.chooses(in_time)
    tester.advances(seconds=1)
    assert "<form" not in customer.opens(checkout, status=410)
    customer.chooses(checkout)
    assert merchant.reads_deposit(checkout).code == 404


@pytest.mark.parametrize(
    ("act", "method", "amount_requested", "status", "arrives"),
    [
        ("overpaid", "us_qr", "12.50", "completed", "25.00"),
        # The amount is in whole units of the currency.
        ("underpaid", "jp_qr", "3", "completed", "1"),
        ("paid-late", "us_qr", "12.50", "completed", "12.50"),
        ("failed", "us_qr", "12.50", "failed", "12.50"),
    ],
)
def test_a_button_of_the_developer_ends_the_payment(
    sandbox: Flask,
    customer: Customer,
    receiver: Receiver,
    act: str,
    method: str,
    amount_requested: str,
    status: str,
    arrives: str,
) -> None:
    merchant = Merchant(sandbox)
    checkout = merchant.makes_checkout(Decimal(amount_requested), "JPY" if method == "jp_qr" else "USD")
    customer.chooses(checkout, method)
    customer.presses(checkout, act)
    deposit = merchant.reads_deposit(checkout).data
    assert (deposit["status"], deposit["inputAmount"]) == (status, Decimal(arrives))
    assert receiver.order_ids == ([checkout] if status == "completed" else [])
    assert (895 <= Tester(sandbox).offset() <= 901) is (act == "paid-late")
    assert 'name="act"' not in customer.opens(checkout)


def test_the_page_is_closed(merchant: Merchant, tester: Tester, customer: Customer, picked: str) -> None:
    unpicked = merchant.makes_checkout()
    assert "This page has expired" in customer.presses(unpicked, "left")
    assert 895 <= tester.offset() <= 901
    assert merchant.reads_deposit(unpicked).code == 404
    assert merchant.reads_deposit(picked).data["status"] == "pending"


def test_a_customer_or_a_page_of_another_origin_does_nothing_as_a_developer(
    sandbox: Flask, merchant: Merchant, tester: Tester, customer: Customer, picked: str
) -> None:
    for act in ACTS:
        assert customer.sends(picked, act, {"Origin": "https://evil.example"}).status_code == 403
        assert sandbox.test_client().post(f"/checkout/{picked}/developer", data={"act": act}).status_code == 401
    assert 'name="act"' not in sandbox.test_client().get(f"/checkout/{picked}").text
    assert (merchant.reads_deposit(picked).data["status"], tester.offset()) == ("pending", 0)
