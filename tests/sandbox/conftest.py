"""A sandbox in memory for each test, and those who act on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask import Flask, request_finished

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Merchant, Receiver, Tester
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.documented import Departures

MakeSandbox = Callable[..., Flask]


@pytest.fixture(autouse=True)
def departures() -> Iterator[Departures]:
    """Every answer that any sandbox gives in this process during the test must be one that its document allows."""
    found = Departures()
    with request_finished.connected_to(found.check):
        yield found
    assert found.seen == []


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def make_sandbox(receiver: Receiver) -> MakeSandbox:
    """A sandbox whose unknowns are given as keywords."""

    def make(**unknowns: str) -> Flask:
        return create_sandbox(
            control_token=CONTROL_TOKEN, seed=1, webhook_url=ENDPOINT, send_webhook=receiver, unknowns=unknowns
        )

    return make


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> Flask:
    return make_sandbox()


@pytest.fixture
def merchant(sandbox: Flask) -> Merchant:
    return Merchant(sandbox)


@pytest.fixture
def tester(sandbox: Flask) -> Tester:
    return Tester(sandbox)


@pytest.fixture
def payer(sandbox: Flask) -> Payer:
    return Payer(sandbox)
