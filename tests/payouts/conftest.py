"""Fixtures of the tests of payouts: shops that pay out at a service with its own books."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import OpenShop
from tests.payouts.books import Books, Pages, PayingService
from tests.scripted import Clock, Service, Shop

#: The settings of a shop that pays out at a service with `books`.
CONFIG: dict[str, Any] = {"PAYCHECKOUT_ACCESS_TOKEN": "unit-token"}


@pytest.fixture
def books(clock: Clock) -> Books:
    """The books of a service that pays every request, so that a repeated call pays twice; its pages have one payout."""
    return Books(Pages(), page_size=1, unique=False, clock=clock)


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Service:
    """The scripted service, which pays out if the test uses its books."""
    return PayingService(request.getfixturevalue("books")) if "books" in request.fixturenames else Service()


@pytest.fixture
def shop(open_shop: OpenShop, request: pytest.FixtureRequest) -> Shop:
    return open_shop(**(CONFIG if "books" in request.fixturenames else {}))
