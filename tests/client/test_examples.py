"""Every example in the client's documentation runs unchanged, over a socket, without warnings."""

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
    """The address of the examples' sandbox."""
    app = create_sandbox()
    with served(app) as base_url:
        # The checkouts' addresses contain the port, which is known only now.
        app.wsgi_app = create_sandbox(base_url=base_url, control_token="control").wsgi_app  # type: ignore[method-assign]
        yield base_url


def run(subject: Any, names: dict[str, Any], address: str) -> list[doctest.Example]:
    """Run the examples of a docstring, which add their variables to `names`."""
    text = (inspect.getdoc(subject) or "").replace(WRITTEN, address)
    lines: list[str] = []
    example = doctest.DocTestParser().get_doctest(text, names, subject.__name__, None, None)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=lines.append, clear_globs=False)
    names.update(example.globs)
    assert lines == [], "".join(lines)
    return example.examples


@pytest.fixture
def names(address: str) -> Iterator[dict[str, Any]]:
    """The variables for the examples, from the package's own example."""
    variables: dict[str, Any] = {}
    assert run(flask_paycheckout.client, variables, address)
    # A busy machine may take long for the first transfer proof.
    variables["client"] = variables["client"].within(60)
    yield variables
    variables["client"].close()
    variables["sandbox"].close()


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_client_has_an_example_that_runs(names: dict[str, Any], address: str, part: str) -> None:
    examples = run(PARTS[part], names, address)
    assert any(f"client.{part}" in example.source for example in examples)
    # Examples must show output.
    assert any(example.want for example in examples)
