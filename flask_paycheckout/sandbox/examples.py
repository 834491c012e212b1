"""Calls of a sandbox with the examples of the OpenAPI document, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from flask_paycheckout.sandbox.wire.envelope import encode
from flask_paycheckout.sandbox.wire.openapi import examples, name_of, operations
from flask_paycheckout.sandbox.world.exact_json import read_json


def send_examples(app: Flask) -> Iterator[tuple[str, TestResponse]]:
    """Send the example of each operation; gives the operation's name with the response."""
    client = app.test_client()
    for path, method, endpoint, _ in sorted(operations(app)):
        example = examples().get(name_of(endpoint), {})
        yield (
            name_of(endpoint),
            client.open(
                path.format_map(example.get("path", {})),
                method=method,
                query_string=example.get("query"),
                data=encode(example["body"]) if "body" in example else None,
                content_type="application/json",
                headers={"Authorization": f"Bearer {ACCESS_TOKEN}"},
            ),
        )


def answers_to_examples(app: Flask) -> dict[str, Any]:
    """The answers of a sandbox to the examples, by operation."""
    responses = send_examples(app)
    return {name: read_json(response.data) for name, response in responses if response.mimetype == "application/json"}
