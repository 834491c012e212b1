"""Fixtures of the tests of payouts: shops that pay out at the sandbox, or at a service with books of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenShop
from tests.payouts.books import Books, Pages, PayingService
from tests.payouts.paying import Payer
from tests.scripted import Clock, Service, Shop

OpenPayer = Callable[..., Payer]
#: The settings of a shop that pays out at a service with `books`.
CONFIG: dict[str, Any] = {"PAYCHECKOUT_ACCESS_TOKEN": "unit-token"}


@pytest.fixture
def open_payer(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> OpenPayer:
    """Opens shops that pay out at the sandbox; settings as for `open_shop`."""

    def open_one(name: str = "shop", **config: Any) -> Payer:
        return Payer(open_shop(name, sandbox=paycheckout_sandbox, **config), paycheckout_sandbox)

    return open_one


@pytest.fixture
def payer(open_payer: OpenPayer) -> Payer:
    return open_payer()


@pytest.fixture
def books(clock: Clock) -> Books:
    """The service pays whatever it is asked to, so that a call made twice pays twice; its pages have one payout."""
    return Books(Pages(), page_size=1, unique=False, clock=clock)


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Service:
    """The scripted service, which pays out where the test looks into its books."""
    return PayingService(request.getfixturevalue("books")) if "books" in request.fixturenames else Service()


@pytest.fixture
def shop(open_shop: OpenShop, request: pytest.FixtureRequest) -> Shop:
    return open_shop(**(CONFIG if "books" in request.fixturenames else {}))
