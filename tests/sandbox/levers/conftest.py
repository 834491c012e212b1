from __future__ import annotations

import pytest
from flask import Flask

from tests.sandbox.actors import Merchant
from tests.sandbox.levers.customer import Customer


@pytest.fixture
def customer(sandbox: Flask) -> Customer:
    return Customer(sandbox)


@pytest.fixture
def picked(merchant: Merchant, customer: Customer) -> str:
    """A checkout of 12.50 USD whose customer has chosen a method."""
    checkout = merchant.makes_checkout()
    customer.chooses(checkout)
    return checkout
