"""Reading of a start file: TOML with tables of accounts, payment methods, checkouts and more, checked as a whole."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import msgspec

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.levers.start_entries import (
    AccountEntry,
    CheckoutEntry,
    ConversionEntry,
    MethodEntry,
    PaymentEntry,
    PayoutEntry,
    RecipientEntry,
)
from flask_paycheckout.sandbox.wire.field_types import Nested, NestedList, declared_fields, load_object, wire_name
from flask_paycheckout.sandbox.wire.parsing import FieldError

MAX_BYTES = 1024 * 1024
"""The largest start file, 1 MiB."""
MAX_ENTRIES = 1000
"""The most entries of one kind."""
_MAX_FAULTS = 20


NOTHING = "{}"
"""A start file without entries."""


class StartFileError(ValueError):
    """A start file that cannot be used; the message names every field and what is wrong with it."""

    def __init__(self, *faults: str) -> None:
        more = [f"and {len(faults) - _MAX_FAULTS} more"] if len(faults) > _MAX_FAULTS else []
        told = "".join(f"\n  {fault}" for fault in [*faults[:_MAX_FAULTS], *more])
        super().__init__(f"the start file cannot be used:{told}\nCorrect it and start again; nothing was stored.")


@dataclass(frozen=True, kw_only=True, repr=False)
class StartFile:
    """The entries of a start file."""

    accounts: Annotated[tuple[AccountEntry, ...], AccountEntry] = ()
    payment_methods: Annotated[tuple[MethodEntry, ...], MethodEntry] = ()
    conversions: Annotated[tuple[ConversionEntry, ...], ConversionEntry] = ()
    recipients: Annotated[tuple[RecipientEntry, ...], RecipientEntry] = ()
    checkouts: Annotated[tuple[CheckoutEntry, ...], CheckoutEntry] = ()
    payouts: Annotated[tuple[PayoutEntry, ...], PayoutEntry] = ()
    payments: Annotated[tuple[PaymentEntry, ...], PaymentEntry] = ()


def load_start(start: str | PathLike[str] | Mapping[str, Any]) -> str:
    """The content of a start file, or of a mapping with the same content, as the JSON that `read_start` reads.

    :raises StartFileError: it cannot be read, is no TOML, or is too large.
    """
    content = start if isinstance(start, Mapping) else _parse(Path(start))
    try:
        text = msgspec.json.Encoder(decimal_format="number").encode(content).decode()
    except (TypeError, ValueError, RecursionError):
        raise StartFileError("it holds a value of a type that no field has, or is nested too deeply.") from None
    if len(text) > MAX_BYTES:
        raise StartFileError(f"it is larger than {MAX_BYTES // 1024**2} MiB.")
    return text


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise StartFileError(f"{path} is larger than {MAX_BYTES // 1024**2} MiB.")
        return tomllib.loads(content.decode(), parse_float=Decimal)
    except OSError as wrong:
        raise StartFileError(f"{path} cannot be read: {wrong.strerror or wrong}.") from None
    except UnicodeDecodeError:
        raise StartFileError(f"{path} is no text in UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as wrong:
        raise StartFileError(f"{path} is no TOML: {wrong}.") from None


def account_names(text: str) -> list[str]:
    """The names of the accounts that a start file adds, before it is checked."""
    accounts = json.loads(text).get("accounts")
    tables = [one for one in accounts if isinstance(one, dict)] if isinstance(accounts, list) else []
    return [one["name"] for one in tables if isinstance(one.get("name"), str) and one["name"] != ACCOUNT_NAME]


def read_start(text: str) -> StartFile:
    """Check a start file as a whole, in the context of the sandbox.

    :raises StartFileError: naming all entries that are wrong.
    """
    content = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    kinds = {wire_name(field): field for field in fields(StartFile)}
    hints = get_type_hints(StartFile, include_extras=True)
    faults = [
        f"{name[:60]} is no part of a start file; its parts are: {', '.join(kinds)}."
        for name in content
        if name not in kinds
    ]
    read: dict[str, Any] = {}
    for name, field in kinds.items():
        given = content.get(name, [])
        if not isinstance(given, list) or len(given) > MAX_ENTRIES:
            faults.append(f"{name} must be a list of at most {MAX_ENTRIES} tables; write [[{name}]] above each.")
            continue
        shape = get_args(hints[field.name])[1]
        read[field.name] = tuple(_entries(shape, name, given, faults))
    if not faults:
        faults = list(_contradictions(StartFile(**read)))
    if faults:
        raise StartFileError(*faults)
    return StartFile(**read)


def _entries(shape: type, name: str, given: list[Any], faults: list[str]) -> Iterator[Any]:
    for place, values in enumerate(given):
        where = f"{name}[{place}]"
        if not isinstance(values, dict):
            faults.append(f"{where} must be a table.")
            continue
        unknown = list(_unknown_fields(shape, values, f"{where}."))
        faults += unknown
        try:
            found: Any = load_object(shape, values, f"{where}.")
        except FieldError as wrong:
            faults.append(str(wrong))
            continue
        yield found


def _unknown_fields(shape: type, values: dict[str, Any], within: str) -> Iterator[str]:
    """A sentence for each field that the shape does not declare, also in inner tables."""
    known = {field.name: field.kind for field in declared_fields(shape)}
    for name, value in values.items():
        kind = known.get(name)
        if kind is None:
            yield f"{within}{name[:60]} is no field; the fields are: {', '.join(known)}."
        elif isinstance(kind, Nested) and isinstance(value, dict):
            yield from _unknown_fields(kind.shape, value, f"{within}{name}.")
        elif isinstance(kind, NestedList) and isinstance(value, list):
            for place, inner in enumerate(value):
                if isinstance(inner, dict):
                    yield from _unknown_fields(kind.shape, inner, f"{within}{name}[{place}].")


def _contradictions(found: StartFile) -> Iterator[str]:
    """A sentence for each entry that does not fit the others."""
    names = [account.name for account in found.accounts]
    yield from _twice("accounts", "name", names)
    for place, account in enumerate(found.accounts):
        fixed = [account.client_id, account.client_secret, account.access_token, account.email, account.password]
        if account.name == ACCOUNT_NAME and any(value is not None for value in fixed):
            yield f"accounts[{place}] is the account that every sandbox has; leave its credentials out."
    yield from _twice("paymentMethods", "code", [method.code for method in found.payment_methods])
    pairs = [f"{one.input_currency} to {one.output_currency}" for one in found.conversions]
    yield from _twice("conversions", "pair of currencies", pairs)
    for kind in ("recipients", "checkouts"):
        yield from _twice(kind, "id", [one.id for one in getattr(found, kind) if one.id is not None])
    for kind in ("recipients", "checkouts", "payouts", "payments"):
        for place, one in enumerate(getattr(found, kind)):
            if one.account not in {ACCOUNT_NAME, *names}:
                yield f"{kind}[{place}].account must be {ACCOUNT_NAME} or the name of one of the file's accounts."


def _twice(kind: str, field: str, values: list[str]) -> Iterator[str]:
    for value in sorted({value for value in values if values.count(value) > 1}):
        yield f"{kind} has two entries with the {field} {value!r}; give each its own."
