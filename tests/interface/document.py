"""Facts from the OpenAPI document of the sandbox about its operations, one per line.

takes inputAmount?: number                     an optional number of the body
takes bank.accountType?: Checking | Savings    one of two words, within an object
asks limit?: integer = 10                      a parameter of the query, 10 by default
gives statusCode: 201                          a field of the answer, which always has this value
takes inputCurrency: code                      the code of a currency or token
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_FEW = 20


def said_by(document: Schema) -> set[str]:
    """Each fact of the document, as one text that begins with the operation."""
    described = _Described(document["components"]["schemas"])
    return {
        f"{method.upper()} {path} {thing}"
        for path, item in document["paths"].items()
        for method, operation in item.items()
        for thing in described.operation(operation)
    }


class _Described:
    """Reads operations of one document."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self._schemas = schemas

    def operation(self, operation: Schema) -> Iterator[str]:
        # Where there is a choice of credentials, the first alternative is always accepted.
        yield f"needs {', '.join(sorted(next(iter(operation['security']), {}))) or 'no credentials'}"
        if operation["deprecated"]:
            yield "is deprecated"
        if "requestBody" in operation:
            yield from (f"takes {line}" for line in self._content(operation["requestBody"]))
        for parameter in operation["parameters"]:
            if parameter["in"] == "query":
                yield f"asks {self._parameter(parameter)}"
        for code, response in operation["responses"].items():
            if code.startswith("2"):
                yield from (f"gives {line}" for line in self._content(response))

    def _content(self, holder: Schema) -> Iterator[str]:
        for media_type, content in holder["content"].items():
            if media_type == "application/json":
                yield from self._fields("", content["schema"])
            else:
                yield f"body: {media_type}"

    def _parameter(self, parameter: Schema) -> str:
        schema = parameter["schema"]
        default = f" = {json.dumps(schema['default'])}" if "default" in schema else ""
        return _line(parameter["name"], parameter["required"], self._holds(schema)) + default

    def _fields(self, place: str, schema: Schema) -> Iterator[str]:
        for kind in self._kinds(schema):
            if kind.get("type") == "array":
                yield from self._items(f"{place.removesuffix('.')}[]", kind["items"])
            for name, field_schema in kind.get("properties", {}).items():
                yield _line(place + name, name in kind["required"], self._holds(field_schema))
                yield from self._fields(f"{place}{name}.", field_schema)

    def _items(self, place: str, schema: Schema) -> Iterator[str]:
        fields = list(self._fields(f"{place}.", schema))
        yield from fields or [_line(place, True, self._holds(schema))]

    def _kinds(self, schema: Schema) -> list[Schema]:
        """The alternatives of a schema, references followed."""
        if "$ref" in schema:
            return self._kinds(self._schemas[schema["$ref"].rpartition("/")[2]])
        if "oneOf" in schema:
            return [_merged([kind for variant in schema["oneOf"] for kind in self._kinds(variant)])]
        if "anyOf" in schema:
            return [kind for alternative in schema["anyOf"] for kind in self._kinds(alternative)]
        return [schema]

    def _holds(self, schema: Schema) -> list[str]:
        return [word for kind in self._kinds(schema) for word in _words(kind)]


def _merged(variants: list[Schema]) -> Schema:
    """A request merged from its variants, each of which has one field that the others lack."""
    names = dict.fromkeys(name for variant in variants for name in variant["properties"])
    properties = {
        name: {"anyOf": [field_schema for variant in variants if (field_schema := variant["properties"].get(name))]}
        for name in names
    }
    required = [name for name in names if all(name in variant["required"] for variant in variants)]
    return {"type": "object", "properties": properties, "required": required}


def _words(kind: Schema) -> list[str]:
    if "enum" in kind:
        # The codes of all currencies are too many to list.
        return ["code"] if len(kind["enum"]) > _FEW else [str(word) for word in kind["enum"]]
    if "const" in kind:
        return [str(kind["const"])]
    if kind.get("format") == "date-time":
        return ["timestamp"]
    return [kind["type"]]


def _line(place: str, is_required: bool, holds: list[str]) -> str:
    if not is_required:
        # A switch of the sandbox decides whether a field without a value is left out or null.
        holds = [word for word in holds if word != "null"]
    return f"{place}{'' if is_required else '?'}: {' | '.join(sorted(set(holds), key=holds.index))}"
