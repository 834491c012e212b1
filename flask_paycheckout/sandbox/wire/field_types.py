"""Types of fields in requests: each validates a value, and describes itself as a JSON Schema.

A request is declared as a frozen dataclass whose fields are annotated with their types:

    @dataclass(frozen=True)
    class NewCheckout:
        input_currency: Annotated[str, Text()]
        input_amount: Annotated[Decimal | None, Amount()] = None

A field without a default is required. In bodies, null equals an absent field. Names of undeclared fields are collected
in `g.undeclared`.
`operations` reads requests by these declarations, and `openapi` documents them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from flask import g

from flask_paycheckout.sandbox.wire.envelope import MAX_DIGITS, UNSEEN_SIGNS, FieldError
from flask_paycheckout.sandbox.world.assumptions import did_you_mean
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.money import TOKEN_DECIMALS, decimals_of, is_divisible, rounded

Shape = TypeVar("Shape")
Schema = dict[str, Any]

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
# With two blanks that Python does not call printable: the one that breaks no line, and that of Japanese names.
_UNSEEN = str.maketrans(dict.fromkeys(UNSEEN_SIGNS + "\u00a0\u3000"))
_LINES = _UNSEEN | str.maketrans(dict.fromkeys("\n\r\t"))


class FieldType:
    """A type of fields."""

    def read(self, name: str, value: Any) -> Any:
        """Validate the value of a JSON field, which is not null. :raises FieldError: it is not of this type."""
        raise NotImplementedError

    def parse(self, name: str, text: str) -> Any:
        """Convert a query parameter to a JSON value; other text is returned unchanged, for `read` to refuse."""
        return text

    def schema(self) -> Schema:
        """The JSON Schema of the type."""
        raise NotImplementedError


@dataclass(frozen=True)
class Text(FieldType):
    """A non-empty string of printable characters."""

    maximum: int | None = None
    """None: as the unknown `text_maximum` says."""
    ignored: ClassVar[Mapping[int, str | None]] = {}
    """Characters that need not be printable."""

    def read(self, name: str, value: Any) -> str:
        seen = value.translate(self.ignored) if isinstance(value, str) and len(value) <= self.most() else ""
        if not (seen.strip() and seen.isprintable()):
            raise FieldError(f"{name} must be a non-empty string of at most {self.most()} printable characters.")
        return str(value)

    def schema(self) -> Schema:
        return {"type": "string", "minLength": 1, "maxLength": self.most(), "pattern": r"\S"}

    def most(self) -> int:
        """The most characters that it may have."""
        return int(assumption("text_maximum")) if self.maximum is None else self.maximum


class FreeText(Text):
    """Text that people write, such as names, which may contain invisible joiners, direction marks and wide blanks."""

    ignored = _UNSEEN


class Note(Text):
    """Free text of any length up to the maximum, which may also contain line breaks and tabs."""

    ignored = _LINES


@dataclass(frozen=True)
class Matching(FieldType):
    """A text that matches a pattern, which its meaning explains."""

    pattern: str
    meaning: str

    def read(self, name: str, value: Any) -> str:
        if not (isinstance(value, str) and re.fullmatch(self.pattern, value)):
            raise FieldError(f"{name} must be {self.meaning}.")
        return value

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^{self.pattern}$"}


@dataclass(frozen=True)
class Choice(FieldType):
    """One of several words."""

    words: tuple[str, ...]

    def read(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise FieldError(f"{name} must be one of: {', '.join(self.words)}.{did_you_mean(str(value), self.words)}")
        return value

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.words)}


class Number(FieldType):
    """A number, taken exactly as written."""

    def read(self, name: str, value: Any) -> Any:
        if not isinstance(value, Decimal):
            raise FieldError(f"{name} must be a number.")
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int) or exponent < -MAX_DIGITS or value.adjusted() >= MAX_DIGITS:
            raise FieldError(f"{name} must have at most {MAX_DIGITS} digits before and after the decimal point.")
        return value

    def parse(self, name: str, text: str) -> Any:
        return Decimal(text) if _NUMBER.fullmatch(text) else text

    def schema(self) -> Schema:
        edge = 10**MAX_DIGITS
        return {"type": "number", "exclusiveMinimum": -edge, "exclusiveMaximum": edge}


class Amount(Number):
    """A positive number."""

    def read(self, name: str, value: Any) -> Any:
        number = super().read(name, value)
        if number <= 0:
            raise FieldError(f"{name} must be a positive number.")
        return number

    def schema(self) -> Schema:
        return super().schema() | {"exclusiveMinimum": 0}


@dataclass(frozen=True)
class Range(Number):
    """A number between two bounds."""

    minimum: int
    maximum: int
    kind: ClassVar[str] = "number"

    def read(self, name: str, value: Any) -> Any:
        if not isinstance(value, Decimal) or not self.minimum <= value <= self.maximum:
            raise FieldError(f"{name} must be a {self.kind} from {self.minimum} to {self.maximum}.")
        return super().read(name, value)

    def schema(self) -> Schema:
        return {"type": "number", "minimum": self.minimum, "maximum": self.maximum}


class Integer(Range):
    """A whole number between two bounds."""

    kind = "whole number"

    def read(self, name: str, value: Any) -> int:
        is_whole = isinstance(value, Decimal) and value == value.to_integral_value()
        return int(super().read(name, value if is_whole else None))

    def parse(self, name: str, text: str) -> Any:
        return Decimal(text) if text.isascii() and text.isdigit() else text

    def schema(self) -> Schema:
        return super().schema() | {"type": "integer"}


class Boolean(FieldType):
    """True or false."""

    def read(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise FieldError(f"{name} must be true or false.")
        return value

    def parse(self, name: str, text: str) -> Any:
        return {"true": True, "false": False}.get(text, text)

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Nested(FieldType):
    """An object within the body, declared by a class of its own."""

    shape: type

    def read(self, name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError(f"{name} must be an object.")
        return load_object(self.shape, value, f"{name}.")

    def schema(self) -> Schema:
        return reference_to(self.shape.__name__)


@dataclass(frozen=True)
class NestedList(Nested):
    """A list of such objects, from `minimum` to `maximum` of them."""

    maximum: int
    minimum: int = 1

    def read(self, name: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or not self.minimum <= len(value) <= self.maximum:
            raise FieldError(f"{name} must be a list of {self.minimum} to {self.maximum} objects.")
        return [Nested.read(self, f"{name}[{number}]", held) for number, held in enumerate(value)]

    def schema(self) -> Schema:
        return {"type": "array", "items": super().schema(), "minItems": self.minimum, "maxItems": self.maximum}


def reference_to(name: str) -> Schema:
    """The reference to a schema of the OpenAPI document, which has one for each declared class."""
    return {"$ref": f"#/components/schemas/{name}"}


@dataclass(frozen=True)
class DeclaredField:
    """One field of a declared request."""

    attribute: str
    name: str
    kind: FieldType
    is_required: bool
    default: Any


def declared_fields(shape: type) -> tuple[DeclaredField, ...]:
    """The fields of a declared class with their kinds and names on the wire: camelCase, or as their metadata say."""
    return _declared_fields(shape)


@cache
def _declared_fields(shape: type) -> tuple[DeclaredField, ...]:
    hints = get_type_hints(shape, include_extras=True)
    return tuple(
        DeclaredField(
            attribute=one.name,
            name=one.metadata.get("name", camel_case(one.name)),
            kind=hints[one.name].__metadata__[0],
            is_required=one.default is MISSING,
            default=one.default,
        )
        for one in fields(shape)
    )


def camel_case(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.title() for word in tail)


def load_object(shape: type[Shape], values: dict[str, Any], within: str = "") -> Shape:
    """A JSON object as the class it is declared by. :raises FieldError: naming the first field at fault."""
    known = {field.name for field in declared_fields(shape)}
    g.setdefault("undeclared", []).extend(f"{within}{name}" for name in values if name not in known)
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

    def read(self, name: str, value: Any) -> str:
        address = super().read(name, value)
        if assumption("email_format") == "checked" and not _ADDRESS.fullmatch(address):
            raise FieldError(f"{name} must be an e-mail address such as name@example.com.")
        return address

    def schema(self) -> Schema:
        return super().schema() | {"format": "email"}


def key_of(address: str) -> str:
    """The form in which addresses are compared."""
    return address if assumption("email_case") == "significant" else address.casefold()


class UnknownCode(FieldError):
    """A field has a code that is not one of those it takes."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is no currency or token code that is known here.")


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

    def read(self, name: str, value: Any) -> str:
        # A longer one is an unknown code, too.
        code = Text().read(name, value)
        if decimals_of(code) is None or code in TOKEN_DECIMALS:
            raise UnknownCode(name)
        return code


RequiredText = Annotated[str, Text()]
OptionalText = Annotated[str | None, Text()]
RequiredFreeText = Annotated[str, FreeText()]
OptionalFreeText = Annotated[str | None, FreeText()]
RequiredAmount = Annotated[Decimal, Amount()]
OptionalAmount = Annotated[Decimal | None, Amount()]
RequiredFiatCode = Annotated[str, FiatCode()]
OptionalFiatCode = Annotated[str | None, FiatCode()]
Flag = Annotated[bool, Boolean()]
OptionalFlag = Annotated[bool | None, Boolean()]
"""The types of most fields; an optional one has the default None."""


@dataclass(frozen=True)
class StatusUpdate:
    """The body of a sandbox update, which forces a status."""

    status: Annotated[str, Text(40)]
