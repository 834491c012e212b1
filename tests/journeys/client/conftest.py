"""The client beside the sandbox, in process and over a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.testing import Sandbox
from tests.journeys.client.stories import ACCESS_TOKEN, Desk, forms_of, token_header
from tests.journeys.unknowns import signer_of
from tests.serving import served

SetUp = Callable[..., Desk]


@pytest.fixture
def set_up() -> Iterator[SetUp]:
    """Sets up desks, over a socket when asked, with unknowns as keywords."""
    with ExitStack() as things:

        def make(*, socket: bool = False, **unknowns: str) -> Desk:
            sandbox = Sandbox(unknowns=unknowns)
            things.callback(sandbox.transport.close)
            options: dict[str, Any] = {"transport": sandbox.transport}
            base_url = sandbox.base_url
            if socket:
                base_url, options = things.enter_context(served(sandbox.app)), {}

            def connect(access_token: str | None) -> PaymentsClient:
                client = PaymentsClient(
                    base_url,
                    signer=signer_of(unknowns),
                    access_token=None if access_token is None else token_header(access_token, unknowns),
                    **options | forms_of(unknowns),
                )
                return things.enter_context(client)

            return Desk(sandbox, connect, connect(ACCESS_TOKEN))

        yield make
