"""A sandbox for each test, those who act on it, and which tests run on PostgreSQL too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from flask import Flask, request_finished

from tests.postgres import empty_database
from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.databases import (
    MEMORY,
    POSTGRESQL,
    KeptPlaces,
    Place,
    disconnect,
)
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.documented import Departures
from tests.sandbox.inspector.developer import Developer

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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test marked `each_database` twice, if its sandboxes come from the fixture."""
    if metafunc.definition.get_closest_marker("each_database") and "places" in metafunc.fixturenames:
        metafunc.parametrize("places", [MEMORY, POSTGRESQL], indirect=True)


@pytest.fixture(scope="session")
def kept_places(postgres_server: str) -> Iterator[KeptPlaces]:
    """Databases on PostgreSQL that the worker's tests use one after the other."""
    with ExitStack() as until:
        kept = KeptPlaces(lambda: until.enter_context(empty_database(postgres_server)))
        until.callback(kept.close)
        yield kept


@pytest.fixture(scope="session")
def places_in_memory() -> KeptPlaces:
    return KeptPlaces(lambda: "sqlite://")


@pytest.fixture
def places(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Where the test's sandboxes live, one after the other."""
    in_memory = getattr(request, "param", MEMORY) == MEMORY
    kept: KeptPlaces = request.getfixturevalue("places_in_memory" if in_memory else "kept_places")
    return iter(kept)


@pytest.fixture
def make_sandbox(receiver: Receiver, places: Iterator[Place]) -> Iterator[MakeSandbox]:
    """A sandbox in its start state, whose unknowns are given as keywords."""
    made: list[Flask] = []

    def make(**unknowns: str) -> Flask:
        app = next(places).open(receiver, unknowns)
        made.extend([app] if unknowns else [])
        return app

    yield make
    # Connections are given back to the server, which has only so many.
    for app in made:
        disconnect(app)


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


@pytest.fixture
def visitor(sandbox: Flask) -> Visitor:
    return Visitor(sandbox)


@pytest.fixture
def developer(sandbox: Flask) -> Developer:
    return Developer(sandbox)
