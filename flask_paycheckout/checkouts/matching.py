"""Comparison of a completed deposit with the total that the customer was asked for. Pure and exact.

No float, no rounding, no tolerance.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from flask_paycheckout.checkouts.states import Reason
from flask_paycheckout.totals import Pay, Total

if TYPE_CHECKING:
    from flask_paycheckout.client import Deposit

__all__ = ["Comparison", "compare", "order_disagreement"]

_SHOWN = 80


class Comparison(msgspec.Struct, frozen=True):
    """One field of the deposit, compared with the value that was stored before the redirect."""

    field: str
    asked: str
    seen: str
    agrees: bool


def compare(checkout_id: str, total: Total, deposit: Deposit) -> tuple[Comparison, ...]:
    """Compare the deposit's id, and currency and amount of the side that was asked for.

    `Pay` fixes the customer's side (`inputAmount`), `Receive` the shop's (`outputAmount`). An amount that the
    service did not send as a JSON number arrives as None, and never agrees.
    """
    if isinstance(total, Pay):
        side, currency, amount = "input", deposit.input_currency, deposit.input_amount
    else:
        side, currency, amount = "output", deposit.output_currency, deposit.output_amount
    return (
        _same("depositId", checkout_id, deposit.deposit_id),
        _same(f"{side}Currency", total.currency, currency),
        Comparison(
            f"{side}Amount",
            f"{total.amount:f}",
            _shown(amount),
            isinstance(amount, Decimal) and amount == total.amount,
        ),
    )


def order_disagreement(asked: Total, now: Total | None) -> Reason | None:
    """The reason not to accept this payment: `order_not_payable`, `order_changed`, or None when the totals agree."""
    if now is None:
        return Reason.ORDER_NOT_PAYABLE
    return None if now == asked else Reason.ORDER_CHANGED


def _same(field: str, asked: str, seen: str | None) -> Comparison:
    return Comparison(field, asked, _shown(seen), isinstance(seen, str) and seen == asked)


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)[:_SHOWN]
