"""Adapts the JSON schemas that msgspec makes for the OpenAPI documents to our encoder and to the switches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import msgspec

from flask_paycheckout.sandbox.wire.field_types import Schema, reference_to
from flask_paycheckout.sandbox.wire.paging import Page
from flask_paycheckout.sandbox.world.money import TOKEN_DECIMALS, TOKENS_BY_ID, fiat_codes

TEXT: Schema = {"type": "string"}
_NULL: Schema = {"type": "null"}
_REFERENCE = reference_to("{name}")["$ref"]
_ONE_OF = {"NewCheckout": ("inputAmount", "outputAmount"), "FiatPaymentV2": ("recipientId", "recipient")}
"""Requests that have exactly one of some fields."""


class Schemas:
    """The schemas of one document.

    :param unknowns: the switches that they follow.
    """

    def __init__(self, unknowns: Mapping[str, str]) -> None:
        self._unknowns = unknowns
        self.kept: dict[str, Schema] = {}
        """The schemas that others refer to, by name."""

    def of(self, kind: Any) -> Schema:
        """The schema of a class of requests or answers, or of a list or union of them."""
        # Each member of a union on its own, because msgspec makes no schema of a union of records.
        kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
        for name, component in components.items():
            self._keep_adapted(_plain(name), self._adapt(component))
        adapted = [self._adapt(schema) for schema in schemas]
        return adapted[0] if len(adapted) == 1 else {"anyOf": adapted}

    def envelope(self, data: Any, code: int, code_field: str) -> Schema:
        """The success envelope of some data, named after it."""
        properties = {code_field: {"type": "integer", "enum": [code]}, "message": TEXT}
        if data is not NoneType:
            properties["data"] = self.of(data)
        marks = "Created" * (code == 201), "WithStatus" * (code_field == "status")
        return self.keep(f"{marks[0]}{_title(data)}{marks[1]}Response", record(properties))

    def keep(self, name: str, schema: Schema) -> Schema:
        """Keep a schema, and return the reference to it."""
        if self.kept.setdefault(name, schema) != schema:
            raise LookupError(f"two different declarations are named {name}")
        return reference_to(name)

    def codes(self) -> None:
        """Keep the codes of currencies and tokens, which fields of requests refer to."""
        fiat = fiat_codes()
        for name, codes in (("FiatCode", fiat), ("TokenId", list(TOKENS_BY_ID)), ("Code", [*fiat, *TOKEN_DECIMALS])):
            self.keep(name, TEXT | {"enum": codes})

    def _keep_adapted(self, name: str, schema: Schema) -> None:
        for part in _ONE_OF.get(name, ()):
            other_parts = set(_ONE_OF[name]) - {part}
            properties = {
                field: property_ for field, property_ in schema["properties"].items() if field not in other_parts
            }
            properties[part] = properties[part]["anyOf"][0]
            variant = f"{name}By{part[:1].upper()}{part[1:]}"
            own = {"title": variant, "properties": properties, "required": [*schema["required"], part]}
            self.keep(variant, schema | own)
        variants = [reference_to(f"{name}By{part[:1].upper()}{part[1:]}") for part in _ONE_OF.get(name, ())]
        self.keep(
            name, {"title": name, "description": schema["description"], "oneOf": variants} if variants else schema
        )

    def _adapt(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [adapted for inner in schema if (adapted := self._adapt(inner)) is not None]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return {"$ref": _plain(schema["$ref"])}
        if "x-when" in schema and not self._applies(schema, "x-when"):
            return None
        if "x-instead" in schema and self._applies(schema, "x-instead"):
            return schema["x-instead"][2]
        adapted = {
            name: inner if name == "default" else self._adapt(inner)
            for name, inner in schema.items()
            if name not in ("x-when", "x-instead")
        }
        if adapted.get("format") == "decimal":
            adapted["type"] = "number"
        if len(adapted.get("anyOf", ())) == 1:
            return adapted["anyOf"][0]
        if "properties" not in adapted:
            return adapted
        # Requests are closed, answers are open.
        return _request(adapted) if "additionalProperties" in adapted else self._answer(adapted)

    def _applies(self, schema: Schema, rule: str) -> bool:
        return bool(self._unknowns[schema[rule][0]] == schema[rule][1])

    def _answer(self, schema: Schema) -> Schema:
        """An answer whose fields without a value are left out, or null, as the switch `absent_fields` says."""
        required = list(schema.get("required", ()))
        for name, property_ in schema["properties"].items():
            if property_.pop("default", ...) is not None:
                continue
            if self._unknowns["absent_fields"] == "null":
                required.append(name)
            else:
                kinds = [kind for kind in property_["anyOf"] if kind != _NULL]
                schema["properties"][name] = kinds[0] if len(kinds) == 1 else property_ | {"anyOf": kinds}
        return schema | {"required": required}


def record(properties: Schema) -> Schema:
    """An object with these fields and perhaps further ones."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _request(schema: Schema) -> Schema:
    """A request without its defaults, because code generators require fields that have one."""
    for property_ in schema["properties"].values():
        property_.pop("default", None)
    return schema


def _plain(name: str) -> str:
    """The plain form of msgspec's name: `RecipientPage` for `Page_RecipientRecord_`."""
    return re.sub(r"Page_(\w+?)(Record)?_$", r"\1Page", name)


def _title(data: Any) -> str:
    """The name of some data: `Recipient`, `RecipientPage`, `RecipientList`."""
    if data is NoneType:
        return "Empty"
    inner = get_args(data)
    if not inner:
        return str(data.__name__).removesuffix("Record").removesuffix("Link")
    return _title(inner[0]) + {list: "List", Page: "Page"}.get(get_origin(data) or data, "OrEmpty")
