"""What a checkout is made from, and what the service answers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from flask_paycheckout.sandbox.wire.field_types import Amount, Text
from flask_paycheckout.sandbox.wire.schemas import Record


class CheckoutLink(Record, frozen=True):
    """The hosted page of a checkout; `url` is to be used as it is."""

    id: str
    url: str


@dataclass(frozen=True)
class NewCheckout:
    """What a `POST /v1/checkout` sends: exactly one of the amounts."""

    input_currency: Annotated[str, Text()]
    input_amount: Annotated[Decimal | None, Amount()] = None
    output_amount: Annotated[Decimal | None, Amount()] = None
    output_currency: Annotated[str | None, Text()] = None
