"""Types of fields in requests: each validates a value, and describes itself as a JSON Schema.

A request is declared as a frozen dataclass whose fields are annotated with their types:

    @dataclass(frozen=True)
    class NewCheckout:
        input_currency: Annotated[str, Text()]
        input_amount: Annotated[Decimal | None, Amount()] = None

A field without a default is required. In bodies, null equals an absent field, and undeclared fields are ignored.
`operations` reads requests by these declarations, and `openapi` documents them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any, Protocol, TypeVar, get_type_hints

from flask_paycheckout.sandbox.money.currencies import decimals_of, is_divisible, is_token, rounded
from flask_paycheckout.sandbox.wire.parsing import (
    MAX_DIGITS,
    FieldError,
    optional_amount,
    optional_boolean,
    optional_number,
    optional_text,
)
from flask_paycheckout.sandbox.world.context import assumption

Shape = TypeVar("Shape")
Schema = dict[str, Any]
SchemaOf = Callable[[type], Schema]

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")


class FieldType(Protocol):
    """A type of fields."""

    def read(self, name: str, value: Any) -> Any:
        """Validate the value of a JSON field. :raises FieldError: it is not of this type."""

    def parse(self, name: str, text: str) -> Any:
        """Convert a query parameter to a JSON value; other text is returned unchanged, for `read` to refuse."""

    def schema(self, schema_of: SchemaOf) -> Schema:
        """The JSON Schema of the type; `schema_of` returns that of a declared class."""


@dataclass(frozen=True)
class Text:
    """A non-empty string of printable characters."""

    maximum: int = 200

    def read(self, name: str, value: Any) -> str | None:
        return optional_text({name: value}, name, self.maximum)

    def parse(self, name: str, text: str) -> Any:
        return text

    def schema(self, schema_of: SchemaOf) -> Schema:
        return {"type": "string", "minLength": 1, "maxLength": self.maximum, "pattern": r"\S"}


class FreeText(Text):
    """Text that people write, such as names, which may contain invisible joiners and direction marks."""

    def read(self, name: str, value: Any) -> str | None:
        return optional_text({name: value}, name, self.maximum, unseen=True)


class Note(Text):
    """Free text of any length up to the maximum, which may also contain line breaks and tabs."""

    def read(self, name: str, value: Any) -> str | None:
        return optional_text({name: value}, name, self.maximum, unseen=True, lines=True)


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]

    def read(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise FieldError(f"{name} must be one of: {', '.join(self.words)}.")
        return value

    def parse(self, name: str, text: str) -> Any:
        return text

    def schema(self, schema_of: SchemaOf) -> Schema:
        return {"type": "string", "enum": list(self.words)}


class Number:
    """A number, taken exactly as written."""

    def read(self, name: str, value: Any) -> Decimal | None:
        return optional_number({name: value}, name)

    def parse(self, name: str, text: str) -> Any:
        return Decimal(text) if _NUMBER.fullmatch(text) else text

    def schema(self, schema_of: SchemaOf) -> Schema:
        edge = 10**MAX_DIGITS
        return {"type": "number", "exclusiveMinimum": -edge, "exclusiveMaximum": edge}


class Amount(Number):
    """A positive number."""

    def read(self, name: str, value: Any) -> Decimal | None:
        return optional_amount({name: value}, name)

    def schema(self, schema_of: SchemaOf) -> Schema:
        return super().schema(schema_of) | {"exclusiveMinimum": 0}


@dataclass(frozen=True)
class Integer:
    """A whole number between two bounds."""

    minimum: int
    maximum: int

    def read(self, name: str, value: Any) -> int:
        if not isinstance(value, Decimal) or not self.minimum <= value <= self.maximum or value != int(value):
            raise FieldError(f"{name} must be a whole number from {self.minimum} to {self.maximum}.")
        return int(value)

    def parse(self, name: str, text: str) -> Any:
        return Decimal(text) if text.isascii() and text.isdigit() else text

    def schema(self, schema_of: SchemaOf) -> Schema:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


class Boolean:
    """True or false."""

    def read(self, name: str, value: Any) -> bool | None:
        return optional_boolean({name: value}, name)

    def parse(self, name: str, text: str) -> Any:
        return {"true": True, "false": False}.get(text, text)

    def schema(self, schema_of: SchemaOf) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Nested:
    """An object within the body, declared by a class of its own."""

    shape: type

    def read(self, name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError(f"{name} must be an object.")
        return load_object(self.shape, value, f"{name}.")

    def parse(self, name: str, text: str) -> Any:
        return text

    def schema(self, schema_of: SchemaOf) -> Schema:
        return schema_of(self.shape)


@dataclass(frozen=True)
class NestedList:
    """A list of such objects, neither empty nor longer than `most`."""

    shape: type
    maximum: int

    def read(self, name: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or not 0 < len(value) <= self.maximum:
            raise FieldError(f"{name} must be a list of 1 to {self.maximum} objects.")
        item = Nested(self.shape)
        return [item.read(f"{name}[{number}]", held) for number, held in enumerate(value)]

    def parse(self, name: str, text: str) -> Any:
        return text

    def schema(self, schema_of: SchemaOf) -> Schema:
        return {"type": "array", "items": schema_of(self.shape), "minItems": 1, "maxItems": self.maximum}


@dataclass(frozen=True)
class DeclaredField:
    """One field of a declared request."""

    attribute: str
    name: str
    kind: FieldType
    is_required: bool
    default: Any


def declared_fields(shape: type) -> tuple[DeclaredField, ...]:
    """The fields of a declared class with their kinds and names on the wire."""
    return _declared_fields(shape)


@cache
def _declared_fields(shape: type) -> tuple[DeclaredField, ...]:
    hints = get_type_hints(shape, include_extras=True)
    return tuple(_declared(field, hints[field.name].__metadata__[0]) for field in fields(shape))


def _declared(field: Field[Any], kind: FieldType) -> DeclaredField:
    return DeclaredField(field.name, wire_name(field), kind, field.default is MISSING, field.default)


def wire_name(field: Field[Any]) -> str:
    """camelCase, or what the field's metadata says in its place."""
    head, *tail = field.name.split("_")
    return str(field.metadata.get("name", head + "".join(word.title() for word in tail)))


def load_object(shape: type[Shape], values: dict[str, Any], within: str = "") -> Shape:
    """A JSON object as the class it is declared by. :raises FieldError: naming the first field at fault."""
    return shape(**{field.attribute: _read(field, values.get(field.name), within) for field in declared_fields(shape)})


def _read(field: DeclaredField, value: Any, within: str) -> Any:
    name = within + field.name
    if value == "" and not field.is_required and assumption("empty_strings") == "absent":
        return field.default
    if value is not None:
        return field.kind.read(name, value)
    if field.is_required:
        raise FieldError(f"{name} is required.")
    return field.default


MAX_ADDRESS = 254
# Stricter than the standard: nothing that has a meaning in a mail header.
_ADDRESS = re.compile(r"""[^@\s,;:<>"()\[\]\\]+@[^@\s,;:<>"()\[\]\\]+""")


@dataclass(frozen=True)
class EmailAddress(Text):
    """An e-mail address; the unknown `email_format` says whether its format is checked."""

    maximum: int = MAX_ADDRESS

    def read(self, name: str, value: object) -> str | None:
        address = optional_text({name: value}, name, self.maximum)
        if address is not None and assumption("email_format") == "checked" and not _ADDRESS.fullmatch(address):
            raise FieldError(f"{name} must be an e-mail address such as name@example.com.")
        return address

    def schema(self, schema_of: SchemaOf) -> Schema:
        return super().schema(schema_of) | {"format": "email"}


def key_of(address: str) -> str:
    """The form in which addresses are compared."""
    return address if assumption("email_case") == "significant" else address.casefold()


class UnknownCode(FieldError):
    """A field has a code that is not one of those it takes."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is no currency or token code that is known here.")


def check_fiat(field: str, code: str) -> None:
    """Refuse a code that is not of a fiat currency. :raises UnknownCode: naming the field."""
    if decimals_of(code) is None or is_token(code):
        raise UnknownCode(field)


def decimals_in(field: str, code: str) -> int:
    """The decimals of a currency or token. :raises UnknownCode: naming the field."""
    decimals = decimals_of(code)
    if decimals is None:
        raise UnknownCode(field)
    return decimals


def in_units(field: str, amount: Decimal, code: str) -> Decimal:
    """An amount with its currency's decimals. One with more is refused or rounded, as `surplus_decimals` says.

    :raises FieldError: it has more, or nothing is left of it.
    """
    decimals = decimals_in(field, code)
    if assumption("surplus_decimals") == "refused" and not is_divisible(amount, decimals):
        raise FieldError(f"{field} has more than the {decimals} decimals of {code}; round it before sending it.")
    whole = rounded(amount, code, ROUND_HALF_UP)
    if whole <= 0:
        raise FieldError(f"{field} is less than half of the smallest unit of {code}.")
    return whole


@dataclass(frozen=True)
class FiatCode(Text):
    """The code of a fiat currency, in a body or as a filter."""

    maximum: int = 3

    def read(self, name: str, value: object) -> str | None:
        code = optional_text({name: value}, name)
        if code is not None:
            check_fiat(name, code)
        return code
