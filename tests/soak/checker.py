"""Checks from the record alone whether the shop kept its promises. Uses nothing of flask_paycheckout.

It adds promises about changing orders to `tests/promises.py`; `books.py` adds promises about sums of money.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from tests.promises import ALWAYS, AT_REST, Row, Violation, Violations, broken, grouped, lines
from tests.soak.books import BOOKS_PROMISES
from tests.soak.record import Record, Soaked, utc

_TOTAL = ("kind", "amount", "currency", "other_currency")
# An unknown payout waits for a person.
_ENDED = {"sent", "completed", "failed", "cancelled", "claimable", "waiting", "unknown"}


def _reached(checkout: Row, state: str) -> datetime:
    """The time at which the checkout first had this state; its creation if the history has no such entry."""
    first, *others = lines(checkout)
    return utc(next((line["at"] for line in others if line.get("to") == state), first["at"]))


def _asked(checkout: Row) -> tuple[str, str, str, str | None]:
    kind, amount, currency, other = (checkout[f"total_{name}"] for name in _TOTAL)
    return kind, amount, currency, other


def _is_same_total(checkout: Row, version: Row) -> bool:
    kind, amount, currency, other = _asked(checkout)
    expected = tuple(version[name] for name in _TOTAL)
    return Decimal(amount) == Decimal(expected[1]) and (kind, currency, other) == (
        expected[0],
        expected[2],
        expected[3],
    )


def _is_right_money(checkout: Row, deposit: Row) -> bool:
    kind, amount, currency, _ = _asked(checkout)
    side = "input" if kind == "pay" else "output"
    return Decimal(deposit[f"{side}_amount"]) == Decimal(amount) and deposit[f"{side}_currency"] == currency


# The promises


def what_was_paid_is_what_is_shipped(soaked: Soaked) -> Violations:
    """A paid order and its parcel do not change after the payment, however late the parcel is packed."""
    parcels = grouped(soaked.record["shop_fulfilment"], "order_id")
    for order in soaked.record["shop_order"]:
        for checkout in soaked.facts.paid.get(order["id"], []):
            if not _is_same_total(checkout, order):
                yield f"{order['id']} was paid as {_asked(checkout)}, and is now {[order[name] for name in _TOTAL]}"
            for parcel in parcels.get(order["id"], []):
                if Decimal(parcel["amount"]) != Decimal(checkout["total_amount"]):
                    yield f"{order['id']} was paid as {_asked(checkout)}, and goods for {parcel['amount']} were shipped"


def only_the_right_money_pays(soaked: Soaked) -> Violations:
    """A paid checkout's deposit equals the requested total, and the order's price at the time of payment."""
    for checkout, deposit in soaked.arrived("paid"):
        key, taken = checkout["checkout_id"], _reached(checkout, "paid")
        if not _is_right_money(checkout, deposit):
            yield f"{key}: asked {_asked(checkout)}, paid by {deposit}"
        versions = soaked.versions_around(checkout["order_id"], taken)
        if not any(version["open"] and _is_same_total(checkout, version) for version in versions):
            yield f"{key}: {_asked(checkout)} is not what {checkout['order_id']} cost at {taken}"


def only_wrong_payments_are_held(soaked: Soaked) -> Violations:
    """Held money has the right reason; a second payment of the right amount for an order is a duplicate."""
    for checkout, deposit in soaked.arrived("held", "rejected"):
        held_at, right = _reached(checkout, "held"), _is_right_money(checkout, deposit)
        around = soaked.versions_around(checkout["order_id"], held_at)
        paid = soaked.facts.paid.get(checkout["order_id"], [])
        reasons = {
            "amount_mismatch": not right,
            "duplicate": right and bool(paid),
            "order_changed": right and any(not _is_same_total(checkout, version) for version in around),
            "order_not_payable": right and (any(not version["open"] for version in around) or bool(paid)),
        }
        is_late = any(held_at > _reached(other, "paid") + soaked.tolerance for other in paid)
        is_noticed = not right or not is_late or checkout["reason"] == "duplicate"
        if not (reasons.get(checkout["reason"], False) and is_noticed):
            yield f"{checkout['checkout_id']} of {checkout['order_id']} is held as {checkout['reason']} without reason"


def everything_is_at_rest(soaked: Soaked) -> Violations:
    """Long after the last customer left, nothing is due, except decisions of a person."""
    for checkout in soaked.facts.checkouts:
        if checkout["status"] in {"created", "pending"} or checkout["next_read_at"] is not None:
            yield f"{checkout['checkout_id']} is {checkout['status']}, next read {checkout['next_read_at']}"
    for payout in soaked.facts.payouts:
        if payout["status"] not in _ENDED:
            yield f"{payout['reference']} is {payout['status']}, next at {payout['due_at']}"


PROMISES: tuple[Callable[[Soaked], Violations], ...] = (
    what_was_paid_is_what_is_shipped,
    only_the_right_money_pays,
    only_wrong_payments_are_held,
    everything_is_at_rest,
)


def check(record: Record) -> list[Violation]:
    soaked = Soaked(record)
    return broken(soaked.facts, *ALWAYS, *AT_REST) + broken(soaked, *PROMISES, *BOOKS_PROMISES)
