"""Random values: what a schema asks for, what exists in the world, and what is hostile."""

from __future__ import annotations

import random
import string
from typing import Any

HOSTILE: tuple[Any, ...] = (
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "'",
        '"',
        "' OR 1=1 --",
        "%",
        "_",
        "\\",
        "../..",
        "a" * 300,
        "é" * 5000,
        "\u202e",
        "\ud7ff",
    ),
    *(
        "\U0010ffff",
        "\r\nX: y",
        "<script>",
        "{{7*7}}",
        "null",
        "NaN",
        "-0",
        "0",
        "1e400",
        "9" * 60,
        "1.0000000000000000001",
    ),
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**63,
        10**40,
        -(10**40),
        0.1,
        1e-30,
        1e30,
        [],
        [[]],
        {},
        {"$ne": 1},
        [None] * 50,
    ),
    *("2026-01-01T00:00:00Z", "0001-01-01", "usdc-polygon", "USD", "XXX", "usd", "http://127.0.0.1:9/", "javascript:1"),
)
"""Scalars and structures that programs stumble over."""
_LETTERS = string.ascii_letters + string.digits + " -_.@/ä"


class Values:
    """Draws values for fields, with the ids and codes that the world has."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.known: dict[str, list[Any]] = {}
        """Values by the name of the field that they are for."""
        self.ids: list[str] = []

    def learns(self, name: str, value: Any) -> None:
        kept = self.known.setdefault(name, [])
        if value not in kept:
            kept.append(value)
            del kept[:-20]

    def learns_from(self, answer: Any, depth: int = 0) -> None:
        """Remember the values of an answer, so that later requests name what exists."""
        if depth > 6:
            return
        for name, value in answer.items() if isinstance(answer, dict) else ():
            if isinstance(value, str | int) and not isinstance(value, bool):
                self.learns(name, value)
                if isinstance(value, str) and len(value) == 24:
                    self.ids = [*self.ids[-40:], value]
        for inner in answer.values() if isinstance(answer, dict) else answer[:5] if isinstance(answer, list) else ():
            self.learns_from(inner, depth + 1)

    def text(self) -> str:
        return "".join(self.chance.choices(_LETTERS, k=self.chance.choice((1, 3, 8, 24, 60))))

    def hostile(self) -> Any:
        return self.chance.choice(HOSTILE)

    def named(self, name: str) -> Any:
        """A value for a path variable or a field without a schema."""
        draw = self.chance.random()
        if draw < 0.1:
            return self.hostile()
        if name in self.known and draw < 0.7:
            return self.chance.choice(self.known[name])
        if self.ids and draw < 0.9:
            return self.chance.choice(self.ids)
        return self.text()

    def of(self, schema: dict[str, Any], schemas: dict[str, Any], name: str = "", depth: int = 0) -> Any:
        """A value for a schema; now and then one that it forbids."""
        if depth > 8:
            return None
        if self.chance.random() < 0.05:
            return self.hostile()
        if "$ref" in schema:
            return self.of(schemas[schema["$ref"].rpartition("/")[2]], schemas, name, depth + 1)
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return self.of(self.chance.choice(choices), schemas, name, depth + 1)
        if name in self.known and self.chance.random() < 0.6:
            return self.chance.choice(self.known[name])
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        kind = schema.get("type", "string")
        kind = self.chance.choice(kind) if isinstance(kind, list) else kind
        return self._of_type(kind, schema, schemas, name, depth)

    def _of_type(self, kind: str, schema: dict[str, Any], schemas: dict[str, Any], name: str, depth: int) -> Any:
        match kind:
            case "object":
                fields = schema.get("properties", {})
                needed = set(schema.get("required", ()))
                wanted = [one for one in fields if one in needed or self.chance.random() < 0.4]
                if wanted and self.chance.random() < 0.05:
                    wanted.pop(self.chance.randrange(len(wanted)))
                return {one: self.of(fields[one], schemas, one, depth + 1) for one in wanted}
            case "array":
                times = self.chance.choice((0, 1, 1, 2, 3))
                return [self.of(schema.get("items", {}), schemas, name, depth + 1) for _ in range(times)]
            case "integer":
                return self.chance.choice((0, 1, 2, 5, 10, 60, 900, 86400, 316224000))
            case "number":
                return self.chance.choice((0, 0.01, 1, 5, 12.5, 25, 100, 950.55, 86400, 316224000))
            case "boolean":
                return self.chance.random() < 0.5
            case "null":
                return None
        if "date" in schema.get("format", ""):
            return "2026-01-01T00:00:00Z"
        return self.named(name)
