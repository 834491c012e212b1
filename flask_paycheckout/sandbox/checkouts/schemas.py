"""Request and record of a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from flask_paycheckout.sandbox.wire.field_types import Amount, Text
from flask_paycheckout.sandbox.wire.schemas import Record


class CheckoutLink(Record, frozen=True):
    """Id of a new checkout, and address of its hosted page, to be used unchanged."""

    id: str
    url: str


@dataclass(frozen=True)
class NewCheckout:
    """The body of `POST /v1/checkout`, with exactly one of the amounts."""

    input_currency: Annotated[str, Text()]
    input_amount: Annotated[Decimal | None, Amount()] = None
    output_amount: Annotated[Decimal | None, Amount()] = None
    output_currency: Annotated[str | None, Text()] = None
