"""Checks every answer of a sandbox against the OpenAPI documents of its service and of its control interface."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from typing import Any

from flask import Flask, Response, g, request
from openapi_schema_validator import OAS31Validator

from flask_paycheckout.sandbox.wire.openapi import document, path_of
from flask_paycheckout.sandbox.wire.operations import is_served, operation_of
from flask_paycheckout.sandbox.world.context import world

_KEPT: dict[str, dict[str, Any]] = {}


class Departures:
    """Answers that differ from the document, each as one sentence."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def check(self, app: Flask, response: Response, **extra: object) -> None:
        """Check an answer; connected to `request_finished`."""
        rule = request.url_rule
        control = rule is not None and rule.endpoint.startswith("control.")
        # An injected fault differs from the document on purpose.
        if rule is None or g.get("fault_kind") is not None or not operation_of(app, rule.endpoint, control=control):
            return
        # The document has no form of an operation that this sandbox does not serve.
        if not is_served(request.method, rule.rule, world(app).unknowns):
            return
        described = _document_of(app, control=control)
        operation = described["paths"].get(path_of(rule), {}).get(request.method.lower())
        fault = "not in the document" if operation is None else fault_of(operation, described["components"], response)
        if fault is not None:
            self.seen.append(f"{request.method} {rule.rule} answered {response.status_code}: {fault}")


def _document_of(app: Flask, *, control: bool) -> dict[str, Any]:
    """The document of a world, the same for all worlds with the same unknowns."""
    key = json.dumps([control, dict(world(app).unknowns)])
    if key not in _KEPT:
        _KEPT[key] = closed(document(app, control=control))
    return _KEPT[key]


def closed(schema: Any) -> Any:
    """The document without further fields in answers: it allows later additions, which the sandbox must not make."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    is_open = "properties" in schema and "additionalProperties" not in schema
    return {name: closed(part) for name, part in schema.items()} | ({"additionalProperties": False} if is_open else {})


def fault_of(operation: dict[str, Any], components: dict[str, Any], response: Response) -> str | None:
    """The difference between an answer and the document; None when there is none."""
    status, responses = str(response.status_code), operation["responses"]
    allowed = responses.get(status) or responses.get(f"{status[0]}XX")
    if allowed is None:
        return "the document has no such status"
    content = allowed["content"].get(response.mimetype)
    if content is None:
        return f"the document has no {response.mimetype} there"
    if response.mimetype != "application/json":
        return None
    body = json.loads(response.get_data(), parse_float=Decimal)
    wrong = next(_validator(json.dumps(content["schema"] | {"components": components})).iter_errors(body), None)
    return None if wrong is None else f"{wrong.json_path} {wrong.message}"


@cache
def _validator(schema: str) -> OAS31Validator:
    return OAS31Validator(json.loads(schema))
