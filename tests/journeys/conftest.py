"""A small shop on a real database, with the sandbox in process, and its customer."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.views.pages import opens, presses_pay


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("on_each_database") and "accounts" in metafunc.fixturenames:
        metafunc.parametrize("accounts", [1, 2], ids=["one account", "two accounts"])


@dataclass
class Shopper:
    """A customer, who uses only pages and links."""

    shop: Shop

    def starts_to_pay(self, order_id: str = "o-1") -> str:
        """Press the pay button, and return the id of the checkout to which it redirects."""
        response = presses_pay(self.shop, order_id)
        assert response.status_code == 303, response.text
        attempt = self.shop.attempts(order_id)[-1]
        assert response.location == attempt.url
        return str(attempt.checkout_id)

    def sees_status(self, order_id: str = "o-1") -> str:
        answer = opens(self.shop, order_id, "/status")
        assert answer.status_code == 200
        return str(answer.get_json()["status"])


@pytest.fixture
def quiet_shop(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> Shop:
    """A shop that receives no webhooks."""
    return open_shop(sandbox=paycheckout_sandbox, PAYCHECKOUT_TIMEOUT=5)


@pytest.fixture
def shop(quiet_shop: Shop, paycheckout_sandbox: Sandbox) -> Shop:
    paycheckout_sandbox.deliver_to(quiet_shop.browser)
    return quiet_shop


@pytest.fixture
def shopper(quiet_shop: Shop) -> Shopper:
    return Shopper(quiet_shop)
