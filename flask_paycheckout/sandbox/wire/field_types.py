"""Types of fields in requests: msgspec's, with a meaning for refusals and the checks that msgspec lacks.

    class NewCheckout(Request):
        input_currency: Code
        input_amount: Amount | None = None

The description of a type says what its values are, in refusals and in the OpenAPI document. In bodies, null equals an
absent field. Names of undeclared fields are collected in `g.undeclared`. `operations` reads requests by these
declarations, and `openapi` documents them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from operator import ge, gt, le, lt
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from flask import g
from msgspec import Meta
from msgspec.structs import fields

from flask_paycheckout.sandbox.wire.envelope import MAX_DECIMALS, MAX_DIGITS, FieldError, Unusable
from flask_paycheckout.sandbox.world.assumptions import did_you_mean
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.money import TOKENS_BY_ID, decimals_of, is_divisible, is_fiat, is_known, rounded

Schema = dict[str, Any]

MAX_TEXT = 200
"""The most characters of a text that has no other limit."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_EDGE = 10**MAX_DIGITS
# Invisible characters that could mislead a reader: control characters, and those that reorder or join whole passages.
_HIDDEN = r"\u00ad\u200b\u2028-\u202e\u2060-\u2069\ufeff"
_CONTROL = r"\u0000-\u001f\u007f-\u009f" + _HIDDEN
_CONTROL_BUT_BREAKS = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f" + _HIDDEN
# Joiners, which Persian, Sinhala and Malayalam need, and direction marks: a text must not consist of them alone.
_UNSEEN = r"\s\u200c-\u200f\u061c"


def _written(refused: str) -> str:
    """The pattern of a text without these characters, and with at least one visible character."""
    return f"[^{refused}]*[^{refused}{_UNSEEN}][^{refused}]*"


def checked(meaning: str, check: Callable[[Any], object], **schema: Any) -> Meta:
    """A type whose values pass `check`; `meaning` describes them.

    :param schema: the check as a JSON Schema.
    """
    return Meta(description=meaning, extra={"check": check}, extra_json_schema=schema)


def matching(pattern: str, meaning: str, most: int = MAX_TEXT, **schema: Any) -> Meta:
    """A text that matches a pattern, which its meaning explains."""
    whole = re.compile(pattern)
    described = {"minLength": 1, "maxLength": most, "pattern": f"^{pattern}$"} | schema
    return checked(meaning, lambda text: len(text) <= most and whole.fullmatch(text), **described)


def text(most: int) -> Meta:
    meaning = f"a non-empty text of at most {most} characters, without control characters"
    return matching(_written(_CONTROL), meaning, most)


def note(most: int) -> Meta:
    """Free text that may also contain line breaks and tabs."""
    return matching(_written(_CONTROL_BUT_BREAKS), f"a non-empty text of at most {most} characters", most)


def choice(*words: str) -> Meta:
    """One of several words."""
    return checked(f"one of: {', '.join(words)}", words.__contains__, enum=list(words))


_BOUNDS = {"minimum": ge, "exclusiveMinimum": gt, "maximum": le, "exclusiveMaximum": lt}


def number_of(text: str) -> Decimal | str:
    """Convert a text to its number; any other text is returned unchanged, and refused later with the field's name."""
    return Decimal(text) if _NUMBER.fullmatch(text) else text


def seconds_of(text: str) -> Decimal | str:
    """The seconds of `90`, `90s`, `15m`, `2h` or `1d`; any other text unchanged."""
    match = _DURATION.fullmatch(text)
    return text if match is None else Decimal(match[1]) * _UNITS[match[2]]


def number(
    meaning: str, schema: Schema | None = None, parse: Callable[[str], object] = number_of, **bounds: int
) -> Meta:
    """A number, taken exactly as written.

    :param parse: reads it where it is a text, in a query, a form or a command.
    :param bounds: named as in a JSON Schema.
    """

    def check(value: Decimal) -> bool:
        exponent = value.as_tuple().exponent
        is_short = isinstance(exponent, int) and exponent >= -MAX_DECIMALS
        return is_short and all(_BOUNDS[name](value, bound) for name, bound in bounds.items())

    described = bounds | (schema or {})
    return Meta(description=meaning, extra={"check": check, "parse": parse}, extra_json_schema=described)


def seconds(most: int) -> Meta:
    """A number of seconds."""
    return number(f"a number from 0 to {most}; as a text, 15m, 2h or 1d", None, seconds_of, minimum=0, maximum=most)


def whole(least: int, most: int) -> Meta:
    """A whole number between two bounds."""
    return Meta(ge=least, le=most, description=f"a whole number from {least} to {most}")


def listed(most: int, least: int = 1) -> Meta:
    """A list of so many objects."""
    return Meta(min_length=least, max_length=most, description=f"a list of {least} to {most} objects")


# Stricter than the standard: no characters that have a meaning in a mail header.
_FORBIDDEN = rf"""{_CONTROL}{_UNSEEN}@,;:<>"()\[\]\\"""
_NO_DOMAIN = rf"{_FORBIDDEN}!#$%&'*+/=?\^_`{{|}}~"
MAX_ADDRESS = 254

Text = Annotated[str, text(MAX_TEXT)]
LongText = Annotated[str, note(500)]


def reference_to(name: str) -> Schema:
    """The reference to a schema of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


_DIGITS = f"number of at most {MAX_DIGITS} digits before the point"
Amount = Annotated[Decimal, number(f"a positive {_DIGITS}", exclusiveMinimum=0, exclusiveMaximum=_EDGE)]
Number = Annotated[Decimal, number(f"a {_DIGITS}", exclusiveMinimum=-_EDGE, exclusiveMaximum=_EDGE)]
Flag = Annotated[bool, Meta(description="true or false")]
Email = Annotated[
    str,
    # No `format`: addresses may have letters of every script, about which tools disagree.
    matching(f"[^{_FORBIDDEN}]+@[^{_NO_DOMAIN}]+", "an e-mail address such as name@example.com", MAX_ADDRESS),
]
FiatCode = Annotated[str, checked("the code of a currency that is known here", is_fiat, **reference_to("FiatCode"))]
TokenId = Annotated[str, checked("the id of a token known here", TOKENS_BY_ID.__contains__, **reference_to("TokenId"))]
Code = Annotated[str, checked("the code of a currency or token that is known here", is_known, **reference_to("Code"))]


class Request(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Base of all requests: bodies, their parts, and queries. They have no repr, because some hold secrets."""

    __repr__ = object.__repr__


Shape = TypeVar("Shape", bound=Request)


class DeclaredField(msgspec.Struct, frozen=True):
    """One field of a declared request."""

    attribute: str
    name: str
    is_required: bool
    kind: Any
    """The class of its values."""
    item: type[Request] | None
    """The class of a list's items."""
    meta: Meta
    default: Any = None

    @property
    def annotated(self) -> Any:
        return Annotated[self.kind, self.meta]

    def parse(self, text: str) -> Any:
        """Convert a query parameter to a JSON value; other text is returned unchanged, for `read` to refuse."""
        if self.kind is bool:
            return {"true": True, "false": False}.get(text, text)
        if self.kind is int:
            return Decimal(text) if text.isascii() and text.isdigit() else text
        return self.meta.extra["parse"](text) if self.kind is Decimal and self.meta.extra else text

    def read(self, value: Any, place: str) -> Any:
        """Validate a value. :raises FieldError: it is not of the type; naming the place."""
        if value is None:
            raise FieldError(f"{place} is required.")
        if issubclass(self.kind, Request):
            return load_object(self.kind, value, f"{place}.")
        if self.kind is int:
            value = _counted(value)
        try:
            # Items are read one by one below, so that each is named by its place.
            msgspec.convert(value, self.annotated, builtin_types=(Decimal,))
            is_right = self.meta.extra is None or self.meta.extra["check"](value)
        except msgspec.ValidationError:
            is_right = False
        if not is_right:
            words = (self.meta.extra_json_schema or {}).get("enum", ())
            raise FieldError(f"{place} must be {self.meta.description}.{did_you_mean(str(value), words)}")
        if self.item is None:
            return value
        return [load_object(self.item, element, f"{place}[{index}].") for index, element in enumerate(value)]


def _counted(value: Any) -> Any:
    """A whole number as `int`; JSON is read with decimals."""
    is_whole = isinstance(value, Decimal) and value.adjusted() < MAX_DIGITS and value == value.to_integral_value()
    return int(value) if is_whole else value


@cache
def declared_fields(shape: type) -> tuple[DeclaredField, ...]:
    """The fields of a declared request, with their names on the wire."""
    return tuple(
        DeclaredField(
            *(field.name, field.encode_name, field.required, *_kind_of(field.type)),
            default=None if field.default is msgspec.NODEFAULT else field.default,
        )
        for field in fields(shape)
    )


def _kind_of(annotation: Any) -> tuple[Any, Any, Meta]:
    if type(None) in get_args(annotation):
        [annotation] = [option for option in get_args(annotation) if option is not type(None)]
    if not hasattr(annotation, "__metadata__"):
        return annotation, None, Meta()
    kind, meta = get_args(annotation)
    return get_origin(kind) or kind, *(get_args(kind) or [None]), meta


def load_object(shape: type[Shape], values: Any, within: str = "") -> Shape:
    """A JSON object as the class it is declared by. :raises FieldError: naming the first field at fault."""
    if not isinstance(values, dict):
        raise FieldError(f"{within.removesuffix('.')} must be an object.")
    declared = {field.name: field for field in declared_fields(shape)}
    g.setdefault("undeclared", []).extend(f"{within}{name}" for name in values if name not in declared)
    is_empty = assumption("empty_strings") == "absent"
    return shape(
        **{
            field.attribute: field.read(values.get(name), within + name)
            for name, field in declared.items()
            if field.is_required or not (values.get(name) is None or (is_empty and values[name] == ""))
        }
    )


def key_of(address: str) -> str:
    """The form in which addresses are compared."""
    return address.casefold()


def in_units(field: str, amount: Decimal, code: str) -> Decimal:
    """An amount with the decimals of its known currency; more are refused or rounded, as `surplus_decimals` says.

    :raises Unusable: it has more and is refused, or rounds to nothing.
    """
    decimals = decimals_of(code) or 0
    if assumption("surplus_decimals") == "refused" and not is_divisible(amount, decimals):
        raise Unusable(f"{field} has more than the {decimals} decimals of {code}; round it before sending it.")
    whole_units = rounded(amount, code, ROUND_HALF_UP)
    if whole_units <= 0:
        raise Unusable(f"{field} is less than half of the smallest unit of {code}.")
    return whole_units
