"""Fixtures of the tests of payouts: a shop that pays out at the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenShop
from tests.payouts.paying import Payer

OpenPayer = Callable[..., Payer]


@pytest.fixture
def open_payer(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> OpenPayer:
    """Opens shops that pay out at the sandbox; settings as for `open_shop`."""

    def open_one(name: str = "shop", **config: Any) -> Payer:
        return Payer(open_shop(name, sandbox=paycheckout_sandbox, **config), paycheckout_sandbox)

    return open_one


@pytest.fixture
def payer(open_payer: OpenPayer) -> Payer:
    return open_payer()
