"""The OpenAPI document of the service, assembled from what the operations of an application declare.

Requests are described from the classes that they are validated by, answers from the structs that they are encoded from.
The document follows the unknowns that change the shape of answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from types import UnionType
from typing import Any, get_args

import msgspec
from flask import Flask
from werkzeug.routing import Rule

from flask_paycheckout.sandbox.wire.field_types import DeclaredField, Schema, declared_fields
from flask_paycheckout.sandbox.wire.forms import is_served
from flask_paycheckout.sandbox.wire.operations import Credentials, Operation, operation_of
from flask_paycheckout.sandbox.world.context import world

_REF = "#/components/schemas/{name}"
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_ERROR = {
    "type": "object",
    "properties": {"statusCode": {"type": "integer"}, "error": {"type": "string"}, "message": {"type": "string"}},
    "required": ["statusCode", "error", "message"],
    "additionalProperties": False,
}
_SIGNATURE_HEADERS = ("X-Signature", "X-Timestamp", "X-Client-ID")
_SECURITY: dict[Credentials, list[dict[str, list[str]]]] = {
    Credentials.NONE: [],
    Credentials.SIGNATURE: [{name: [] for name in _SIGNATURE_HEADERS}],
    Credentials.ACCESS_TOKEN: [{"Authorization": []}],
}


def document(app: Flask) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a sandbox's service."""
    writer = _Writer(world(app).unknowns)
    paths: dict[str, dict[str, Any]] = {}
    for path, method, view, declared in operations(app):
        paths.setdefault(path, {})[method.lower()] = writer.operation(path, view, declared)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Payments service (sandbox)", "version": "1"},
        "servers": [{"url": world(app).base_url}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(writer.schemas.items())), "securitySchemes": _security_schemes()},
    }


def operations(app: Flask) -> Iterator[tuple[str, str, str, Operation]]:
    """Path, method, view name and declaration of every operation that the sandbox serves."""
    for rule in app.url_map.iter_rules():
        declared = operation_of(app, rule.endpoint)
        if declared is not None:
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                if not is_served(method, rule.rule, world(app).unknowns):
                    continue
                yield path_of(rule), method, rule.endpoint, declared


def path_of(rule: Rule) -> str:
    """The path of a route in the document: `/v1/deposit/{depositId}`."""
    return _VARIABLE.sub(_braced, rule.rule)


def _braced(variable: re.Match[str]) -> str:
    head, *tail = variable[1].split("_")
    return f"{{{head}{''.join(word.title() for word in tail)}}}"


def _security_schemes() -> dict[str, Any]:
    signed = {name: {"type": "apiKey", "in": "header", "name": name} for name in _SIGNATURE_HEADERS}
    return signed | {"Authorization": {"type": "http", "scheme": "bearer"}}


class _Writer:
    """Describes operations, and collects the schemas that they refer to."""

    def __init__(self, unknowns: Mapping[str, str]) -> None:
        self.schemas: dict[str, Schema] = {"Error": _ERROR}
        self.unknowns = unknowns
        self.always_200 = unknowns["http_status"] == "always_200"
        self.either_scheme = unknowns["access_scheme"] == "either"

    def operation(self, path: str, view: str, declared: Operation) -> dict[str, Any]:
        written = {
            "operationId": _operation_id(path, view),
            "deprecated": declared.deprecated,
            "summary": declared.summary,
            "description": declared.description,
            "parameters": [*_path_parameters(path), *map(self._query_parameter, _query_of(declared))],
            "security": self._security(declared),
            "responses": self._responses(declared),
        }
        if declared.body is not None:
            content = {"application/json": {"schema": self.request_schema(declared.body)}}
            written["requestBody"] = {"required": True, "content": content}
        return written

    def _security(self, declared: Operation) -> list[dict[str, list[str]]]:
        schemes = _SECURITY[declared.credentials]
        if self.either_scheme and declared.credentials is not Credentials.NONE:
            schemes = _SECURITY[Credentials.SIGNATURE] + _SECURITY[Credentials.ACCESS_TOKEN]
        return [*schemes, {"X-Client-ID": []}] if declared.client_id_alone else schemes

    def _query_parameter(self, field: DeclaredField) -> dict[str, Any]:
        schema = field.kind.schema(self.request_schema)
        if field.default not in (None, MISSING):
            schema["default"] = field.default
        return {"name": field.name, "in": "query", "required": field.is_required, "schema": schema}

    def request_schema(self, shape: type) -> Schema:
        """Add the schema of a declared class, and return a reference to it."""
        properties, required = {}, []
        for field in declared_fields(shape):
            schema = field.kind.schema(self.request_schema)
            properties[field.name] = schema if field.is_required else {"anyOf": [schema, {"type": "null"}]}
            if field.is_required:
                required.append(field.name)
        self._keep(shape.__name__, {"type": "object", "properties": properties, "required": required})
        return {"$ref": _REF.format(name=shape.__name__)}

    def _responses(self, declared: Operation) -> dict[str, Any]:
        error = {"$ref": _REF.format(name="Error")}
        good = {str(code): self._success(declared, code) for code in declared.codes}
        if not self.always_200:
            responses = {code: _response("Success", declared.media_type, schema) for code, schema in good.items()}
            return responses | {"4XX": _response("Refused", "application/json", error)}
        content = {"application/json": {"schema": {"anyOf": [*good.values(), error]}}}
        return {"200": {"description": "Success, or refused: the body says which", "content": content}}

    def _success(self, declared: Operation, code: int) -> Schema:
        if declared.media_type != "application/json":
            return {"type": "string", "format": "binary"}
        properties: dict[str, Schema] = {declared.code_field: {"const": code}, "message": {"type": "string"}}
        data = declared.data if declared.data_of is None else declared.data_of[1][self.unknowns[declared.data_of[0]]]
        if data not in (None, type(None)):
            properties["data"] = self._answer_schema(data)
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _answer_schema(self, answers: Any) -> Schema:
        # One after the other, because a union of records can be encoded but not decoded.
        schemas, components = answer_schemas(get_args(answers) if isinstance(answers, UnionType) else (answers,))
        for name, held in components.items():
            self._keep(name, held)
        return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}

    def _keep(self, name: str, schema: Schema) -> None:
        if self.schemas.setdefault(name, schema) != schema:
            raise LookupError(f"two different declarations are named {name}")


def answer_schemas(kinds: tuple[Any, ...]) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """The schemas of these types of answers, and of the records that they refer to, by name."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    return schemas, {name: _on_the_wire(held) for name, held in components.items()}


def _on_the_wire(schema: Any) -> Any:
    """Adapt a schema of msgspec to our encoder: decimals are numbers, and records have no defaults."""
    if isinstance(schema, list):
        return [_on_the_wire(held) for held in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "decimal":
        return {"type": "number"}
    return {name: _on_the_wire(held) for name, held in schema.items() if name != "default"}


def _operation_id(path: str, view: str) -> str:
    return f"{view.rpartition('.')[2]}_{path.strip('/').replace('/', '_')}".replace("{", "").replace("}", "")


def _path_parameters(path: str) -> list[dict[str, Any]]:
    parameter = {"in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    return [{"name": name} | parameter for name in re.findall(r"{(\w+)}", path)]


def _query_of(declared: Operation) -> tuple[DeclaredField, ...]:
    return () if declared.query is None else declared_fields(declared.query)


def _response(description: str, media_type: str, schema: Schema) -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}
