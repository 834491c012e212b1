"""A sandbox for each test, and its actors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask, request_finished

from flask_paycheckout.sandbox.world.context import world
from tests.conftest import NewDatabase
from tests.postgres import empty_database
from tests.repeatable import standing_time
from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.databases import UsualSandbox, disconnect, open_sandbox
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.documented import Departures
from tests.sandbox.inspector.developer import Developer

MakeSandbox = Callable[..., Flask]


@pytest.fixture(autouse=True)
def departures() -> Iterator[Departures]:
    """Check every answer of every sandbox in this process during the test against its OpenAPI document."""
    departed = Departures()
    with request_finished.connected_to(departed.check):
        yield departed
    assert departed.seen == []


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture(scope="session")
def usual_in_memory() -> UsualSandbox:
    return UsualSandbox("sqlite://")


@pytest.fixture(scope="session")
def usual_on_postgresql(postgres_server: str) -> Iterator[UsualSandbox]:
    with empty_database(postgres_server) as address:
        usual = UsualSandbox(address)
        yield usual
        disconnect(usual.app)


@pytest.fixture
def make_sandbox(
    request: pytest.FixtureRequest, receiver: Receiver, database_kind: str, new_database: NewDatabase
) -> Iterator[MakeSandbox]:
    """Makes sandboxes in their start state; keywords are unknowns."""
    in_memory = database_kind == "sqlite"
    usual: list[UsualSandbox] = [request.getfixturevalue(f"usual_{'in_memory' if in_memory else 'on_postgresql'}")]
    apps: list[Flask] = []

    def make(**unknowns: str) -> Flask:
        if usual and not unknowns:
            return usual.pop().reset(receiver)
        address = "sqlite://" if in_memory else new_database(f"sandbox {len(apps)}")
        apps.append(open_sandbox(address, seed=1, send_webhook=receiver, unknowns=unknowns))
        world(apps[-1]).clock.machine = standing_time()
        return apps[-1]

    yield make
    # Close the connections, because the server has a limited number.
    for app in apps:
        disconnect(app)


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> Flask:
    return make_sandbox()


def acting(actor: type[Any]) -> Any:
    """Make a fixture: the actor in the sandbox of the test."""

    @pytest.fixture
    def made(sandbox: Flask) -> Any:
        return actor(sandbox)

    return made


merchant, tester, payer = acting(Merchant), acting(Tester), acting(Payer)
visitor, developer = acting(Visitor), acting(Developer)
