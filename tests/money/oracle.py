"""A second implementation of the verdict on one answer of the service, with integers alone.

It uses no decimals and no floats: the standard library parses the JSON, and each number stays as written.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tests.money.json_text import NotJson, Number, Object, Value, parse, units

_LONGEST_NAME = 500


class Outcome(StrEnum):
    """The meaning of one answer for the checkout."""

    PAID = "paid"
    #: Completed, but not the money that was asked for: a person has to look.
    HELD = "held"
    #: A deposit that is not completed.
    WAITS = "waits"
    #: The answer is ambiguous, or not about this deposit: it must change nothing.
    UNREAD = "unread"


@dataclass(frozen=True)
class Asked:
    """The requested money, in whole smallest units.

    :ivar side: `input` for what the customer pays, `output` for what the shop receives.
    :ivar places: the decimals of the currency.
    """

    checkout_id: str
    side: str
    units: int
    currency: str
    places: int


def judge(asked: Asked, body: bytes) -> Outcome:
    """The outcome of the answer `body` to a read of this checkout's deposit."""
    data = _data(body)
    if data is None:
        return Outcome.UNREAD
    deposit_id, status = _name(data.get("depositId")), _name(data.get("status"))
    if deposit_id is None or status is None or max(len(deposit_id), len(status)) > _LONGEST_NAME:
        return Outcome.UNREAD
    if deposit_id != asked.checkout_id:
        # Another checkout's deposit decides nothing, with any status.
        return Outcome.UNREAD
    if status.lower() != "completed":
        return Outcome.WAITS
    agrees = _name(data.get(f"{asked.side}Currency")) == asked.currency
    amount = data.get(f"{asked.side}Amount")
    exact = isinstance(amount, Number) and units(amount, asked.places) == asked.units
    return Outcome.PAID if agrees and exact else Outcome.HELD


def _data(body: bytes) -> Object | None:
    """The deposit of a successful answer without duplicate members."""
    try:
        envelope = parse(body)
    except NotJson:
        return None
    if not isinstance(envelope, Object) or envelope.ambiguous or not _is_success(envelope.get("statusCode")):
        return None
    data = envelope.get("data")
    return data if isinstance(data, Object) and not data.ambiguous else None


def _is_success(code: Value) -> bool:
    return isinstance(code, Number) and code.whole and units(code, 0) in range(200, 300)


def _name(value: Value) -> str | None:
    """A string that can be stored and compared: no NUL, no half of a surrogate pair."""
    if not isinstance(value, str) or "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        return None
    return value
