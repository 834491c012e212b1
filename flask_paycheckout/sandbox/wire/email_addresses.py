"""E-mail addresses in requests: their format, and their comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flask_paycheckout.sandbox.wire.field_types import Schema, SchemaOf, Text
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_text
from flask_paycheckout.sandbox.world.context import assumption

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
