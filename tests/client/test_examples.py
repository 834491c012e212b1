"""Every example in the client's documentation runs as it stands there, over a socket, and warns of nothing."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import flask_paycheckout.client
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.sandbox import create_sandbox
from tests.client.wire import parts_of
from tests.serving import served

WRITTEN = "http://127.0.0.1:8790"
PARTS = {name: type(part) for name, part in parts_of(PaymentsClient(WRITTEN)).items()}


@pytest.fixture
def address() -> Iterator[str]:
    """Where the sandbox of the examples listens."""
    app = create_sandbox()
    with served(app) as base_url:
        # The checkouts' addresses hold the port, which is known only now.
        app.wsgi_app = create_sandbox(base_url=base_url, control_token="control").wsgi_app  # type: ignore[method-assign]
        yield base_url


def run(subject: Any, names: dict[str, Any], address: str) -> list[doctest.Example]:
    """Runs the examples of a docstring; what they define is left in `names`."""
    text = (inspect.getdoc(subject) or "").replace(WRITTEN, address)
    told: list[str] = []
    example = doctest.DocTestParser().get_doctest(text, names, subject.__name__, None, None)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append, clear_globs=False)
    names.update(example.globs)
    assert told == [], "".join(told)
    return example.examples


@pytest.fixture
def names(address: str) -> Iterator[dict[str, Any]]:
    """The names that the examples know: those that the package's own example has made."""
    made: dict[str, Any] = {}
    assert run(flask_paycheckout.client, made, address)
    # A busy machine may take long for the first transfer proof.
    made["client"] = made["client"].within(60)
    yield made
    made["client"].close()
    made["sandbox"].close()


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_client_has_an_example_that_runs(names: dict[str, Any], address: str, part: str) -> None:
    examples = run(PARTS[part], names, address)
    assert any(f"client.{part}" in example.source for example in examples)
    # An example shows what comes out of it.
    assert any(example.want for example in examples)
