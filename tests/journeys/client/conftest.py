"""The client with the sandbox in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.testing import Sandbox
from tests.journeys.client.stories import ACCESS_TOKEN, Desk, token_header
from tests.journeys.unknowns import signer_of

SetUp = Callable[..., Desk]


@pytest.fixture
def set_up() -> Iterator[SetUp]:
    """Makes desks; keywords are unknowns."""
    with ExitStack() as things:

        def make(**unknowns: str) -> Desk:
            sandbox = Sandbox(unknowns=unknowns)
            things.callback(sandbox.transport.close)
            client = PaymentsClient(
                sandbox.base_url,
                signer=signer_of(unknowns),
                access_token=token_header(ACCESS_TOKEN, unknowns),
                transport=sandbox.transport,
            )
            return Desk(sandbox, things.enter_context(client), unknowns)

        yield make
