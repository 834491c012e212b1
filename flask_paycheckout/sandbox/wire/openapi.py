"""The OpenAPI documents of the service and of the control interface, assembled from what their views declare.

Requests are described from the classes that they are validated by, answers from the structs that they are encoded from.
The document of the service follows the unknowns that change the shape of answers.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, is_dataclass
from types import UnionType
from typing import Any, get_args, get_type_hints

import msgspec
from flask import Flask
from werkzeug.routing import Rule

from flask_paycheckout.sandbox.wire.callers import CONTROL_HEADER
from flask_paycheckout.sandbox.wire.field_types import (
    DeclaredField,
    Nested,
    Schema,
    camel_case,
    declared_fields,
    reference_to,
)
from flask_paycheckout.sandbox.wire.operations import Credentials, Operation, is_served, operation_of
from flask_paycheckout.sandbox.world.context import world

_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_TEXT = {"type": "string"}
_SIGNATURE_HEADERS = {
    "X-Signature": "Lowercase hexadecimal HMAC-SHA256, keyed with the client secret, of four lines: the method, the"
    " target (path and query as sent), X-Timestamp, and the lowercase hexadecimal SHA-256 of the body.",
    "X-Timestamp": "Unix time in seconds, at which the request is signed.",
    "X-Client-ID": "The client id of the account.",
}
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "An access token, which POST /v1/auth/verify-login answers.",
}
_SECURITY: dict[Credentials, list[dict[str, list[str]]]] = {
    Credentials.NONE: [],
    Credentials.SIGNATURE: [{name: [] for name in _SIGNATURE_HEADERS}],
    Credentials.ACCESS_TOKEN: [{"Authorization": []}],
    Credentials.CONTROL_TOKEN: [{CONTROL_HEADER: []}],
}


def document(app: Flask, *, control: bool = False) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a sandbox's service, or of its control interface."""
    writer = _Writer(world(app).unknowns, control=control)
    paths: dict[str, dict[str, Any]] = {}
    with app.app_context():
        for path, method, endpoint, declared in operations(app, control=control):
            written = writer.operation(path, endpoint, app.view_functions[endpoint], declared)
            paths.setdefault(path, {})[method.lower()] = written
    headers = (
        {CONTROL_HEADER: "The control token, which the sandbox prints at its start."} if control else _SIGNATURE_HEADERS
    )
    schemes: dict[str, Any] = {
        name: {"type": "apiKey", "in": "header", "name": name, "description": described}
        for name, described in headers.items()
    }
    if not control:
        schemes["Authorization"] = _TOKEN
    title = "Control interface of the payments sandbox" if control else "Payments service (sandbox)"
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "servers": [{"url": world(app).base_url}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(writer.schemas.items())), "securitySchemes": schemes},
    }


def operations(app: Flask, *, control: bool = False) -> Iterator[tuple[str, str, str, Operation]]:
    """Path, method, endpoint and declaration of every operation that the sandbox serves."""
    for rule in app.url_map.iter_rules():
        declared = operation_of(app, rule.endpoint, control=control)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            if declared is not None and is_served(method, rule.rule, world(app).unknowns):
                yield path_of(rule), method, rule.endpoint, declared


def path_of(rule: Rule) -> str:
    """The path of a route in the document: `/v1/deposit/{depositId}`."""
    return _VARIABLE.sub(lambda variable: f"{{{camel_case(variable[1])}}}", rule.rule)


def _record(**properties: Schema) -> Schema:
    """An object with exactly these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class _Writer:
    """Describes operations, and collects the schemas that they refer to."""

    def __init__(self, unknowns: Mapping[str, str], *, control: bool) -> None:
        of_control = _record(error=_record(field=_TEXT, fault=_TEXT, remedy=_TEXT))
        of_service = _record(statusCode={"type": "integer"}, error=_TEXT, message=_TEXT)
        self.schemas: dict[str, Schema] = {"Error": of_control if control else of_service}
        self.unknowns, self.control = unknowns, control
        self.always_200 = not control and unknowns["http_status"] == "always_200"

    def operation(self, path: str, endpoint: str, view: Any, declared: Operation) -> dict[str, Any]:
        summary, _, description = inspect.cleandoc(view.__doc__ or "").partition("\n")
        variable = {"in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        query = () if declared.query is None else declared_fields(declared.query)
        written = {
            "operationId": re.sub(r"\W+", "_", f"{endpoint.rpartition('.')[2]}{path}").strip("_"),
            "deprecated": declared.deprecated,
            "summary": summary,
            "description": description.strip(),
            "parameters": [
                *({"name": name} | variable for name in re.findall(r"{(\w+)}", path)),
                *map(self._query_parameter, query),
            ],
            "security": self._security(declared),
            "responses": self._responses(declared, get_type_hints(view)["return"]),
        }
        if declared.body is not None:
            content = {"application/json": {"schema": self.request_schema(declared.body)}}
            written["requestBody"] = {"required": not declared.may_be_empty, "content": content}
        return written

    def _security(self, declared: Operation) -> list[dict[str, list[str]]]:
        schemes = _SECURITY[declared.credentials]
        if declared.credentials in _TWO_SCHEMES and self.unknowns["access_scheme"] == "either":
            schemes = [scheme for one in _TWO_SCHEMES for scheme in _SECURITY[one]]
        return [*schemes, {"X-Client-ID": []}] if declared.client_id_alone else schemes

    def _query_parameter(self, field: DeclaredField) -> dict[str, Any]:
        schema = self._field_schema(field)
        if field.default not in (None, MISSING):
            schema["default"] = field.default
        return {"name": field.name, "in": "query", "required": field.is_required, "schema": schema}

    def request_schema(self, shape: Any) -> Any:
        """Add the schema of a declared class, and return a reference to it."""
        if not (isinstance(shape, type) and is_dataclass(shape)):
            return self._answer_schema(shape)
        properties, required = {}, []
        for field in declared_fields(shape):
            schema = self._field_schema(field)
            properties[field.name] = schema if field.is_required else {"anyOf": [schema, {"type": "null"}]}
            if field.is_required:
                required.append(field.name)
        self._keep(shape.__name__, {"type": "object", "properties": properties, "required": required})
        return reference_to(shape.__name__)

    def _field_schema(self, field: DeclaredField) -> Schema:
        if isinstance(field.kind, Nested):
            self.request_schema(field.kind.shape)
        return field.kind.schema()

    def _responses(self, declared: Operation, returns: Any) -> dict[str, Any]:
        error = reference_to("Error")
        good = {str(code): self._success(declared, code, returns) for code in declared.codes}
        if not self.always_200:
            responses = {code: _response("Success", declared.media_type, schema) for code, schema in good.items()}
            return responses | {"4XX": _response("Refused", "application/json", error)}
        anything = {"anyOf": [*good.values(), error]}
        return {"200": _response("Success, or refused: the body says which", "application/json", anything)}

    def _success(self, declared: Operation, code: int, returns: Any) -> Any:
        if declared.media_type != "application/json":
            return {"type": "string", "format": "binary"}
        if self.control:
            return self._answer_schema(returns)
        properties: dict[str, Schema] = {declared.code_field: {"const": code}, "message": _TEXT}
        [data] = get_args(returns)
        data = data if declared.data_of is None else declared.data_of[1][self.unknowns[declared.data_of[0]]]
        if data not in (None, type(None)):
            properties["data"] = self._answer_schema(data)
        return _record(**properties)

    def _answer_schema(self, answers: Any) -> Any:
        # One after the other, because a union of records can be encoded but not decoded.
        kinds = get_args(answers) if isinstance(answers, UnionType) else (answers,)
        schemas, components = msgspec.json.schema_components(kinds, ref_template=reference_to("{name}")["$ref"])
        for name, held in components.items():
            self._keep(name, _on_the_wire(held))
        return _on_the_wire(schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)})

    def _keep(self, name: str, schema: Schema) -> None:
        if self.schemas.setdefault(name, schema) != schema:
            raise LookupError(f"two different declarations are named {name}")


_TWO_SCHEMES = (Credentials.SIGNATURE, Credentials.ACCESS_TOKEN)


def _on_the_wire(schema: Any) -> Any:
    """Adapt a schema of msgspec to our encoder: decimals are numbers, and records have no defaults."""
    if isinstance(schema, list):
        return [_on_the_wire(held) for held in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "decimal":
        return {"type": "number"}
    fields = {name: _on_the_wire(held) for name, held in schema.get("properties", {}).items()}
    rest = {name: _on_the_wire(held) for name, held in schema.items() if name not in ("default", "properties")}
    return rest | ({"properties": fields} if fields else {})


def _response(description: str, media_type: str, schema: Schema) -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}
