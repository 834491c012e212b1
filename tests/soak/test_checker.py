"""The checker finds what it is there to find: each promise, broken on purpose in a history that keeps them all."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.soak.checker import check

Record = dict[str, Any]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(minutes: float) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


def checkout(key: str, order: str, *moves: tuple[float, str], reason: str | None = None) -> Record:
    lines = [{"at": at(0), "what": "created"}, *({"at": at(when), "what": "moved", "to": to} for when, to in moves)]
    status = moves[-1][1] if moves else "created"
    return {
        "checkout_id": key,
        "order_id": order,
        "status": status,
        "reason": reason,
        "url": f"https://pay.example/checkout/{key}",
        "total_kind": "pay",
        "total_amount": "12.50",
        "total_currency": "USD",
        "total_other_currency": None,
        "paid_order_id": order if status == "paid" else None,
        "next_read_at": None,
        "history": "".join(json.dumps(line) + "\n" for line in lines),
    }


def deposit(key: str, amount: str = "12.50", status: str = "completed") -> Record:
    money = {"input_currency": "USD", "input_amount": amount, "output_currency": "USD", "output_amount": "12.00"}
    return {"id": key, "status": status, "updated_at": at(2), **money}


def event(name: str, key: str, order: str, reason: str | None = None) -> Record:
    told = {"event_id": f"{name} {key}", "name": name, "checkout_id": key, "order_id": order}
    return told | {"reason": reason, "delivered_at": at(4), "superseded_at": None}


def version(order: str, minutes: float, amount: str = "12.50", is_open: bool = True) -> Record:
    total = {"kind": "pay", "amount": amount, "currency": "USD", "other_currency": None}
    return {"order_id": order, "since": at(minutes), "open": is_open, **total}


@pytest.fixture
def record() -> Record:
    """A shop that kept its promises: a paid order with a second payment, one paid wrongly, one changed, one left."""
    events = [
        event("order_pending", "a1", "a"),
        event("order_paid", "a1", "a"),
        event("payment_held", "a2", "a", "duplicate"),
        event("payment_held", "b1", "b", "amount_mismatch"),
        event("payment_held", "c1", "c", "order_changed"),
        event("order_abandoned", "d1", "d"),
    ]
    checkouts = [
        checkout("a1", "a", (1, "pending"), (3, "paid")),
        checkout("a2", "a", (1, "abandoned"), (20, "pending"), (25, "held"), reason="duplicate"),
        checkout("b1", "b", (3, "held"), reason="amount_mismatch"),
        checkout("c1", "c", (40, "held"), reason="order_changed"),
        checkout("d1", "d", (17, "abandoned")),
    ]
    return {
        "tolerance": 60,
        "service_deposits": [deposit("a1"), deposit("a2"), deposit("b1", "12.49"), deposit("c1"), deposit("orphan")],
        "checkouts": checkouts,
        "events": events,
        "notes": [{"event_id": told["event_id"]} for told in events],
        "orders": [{**version(order, 0), "id": order, "paid": order == "a"} for order in "abcd"],
        "versions": [*(version(order, 0) for order in "abcd"), version("c", 20, "99.00")],
        "fulfilments": [{"order_id": "a", "event_id": "order_paid a1", "checkout_id": "a1", "amount": "12.5"}],
        "effects": [{"order_id": "a", "event_id": "order_paid a1"}] * 2,
        "locations": [{name: row[name] for name in ("order_id", "checkout_id", "url")} for row in checkouts],
    }


def test_kept_promises_are_no_violation(record: Record) -> None:
    assert check(record) == []


def row(record: Record, table: str, **wanted: object) -> Record:
    (found,) = [row for row in record[table] if wanted.items() <= row.items()]
    assert isinstance(found, dict)
    return found


def change(table: str, wanted: Record, **values: object) -> Callable[[Record], None]:
    return lambda record: row(record, table, **wanted).update(values)


def drop(table: str, **wanted: object) -> Callable[[Record], None]:
    return lambda record: record[table].remove(row(record, table, **wanted))


def add(table: str, added: Record) -> Callable[[Record], None]:
    return lambda record: record[table].append(added)


def move(key: str, *moves: tuple[float, str], reason: str | None = None) -> Callable[[Record], None]:
    def moved(record: Record) -> None:
        found = row(record, "checkouts", checkout_id=key)
        found.update(checkout(key, found["order_id"], *moves, reason=reason))

    return moved


BREAKS: list[tuple[str, str, Callable[[Record], None]]] = [
    ("a payment is overlooked", "no_payment_is_lost", move("c1", (17, "abandoned"))),
    ("nobody is told of a held payment", "no_payment_is_lost", drop("events", event_id="payment_held b1")),
    ("the money was never there", "nothing_is_made_up", drop("service_deposits", id="a1")),
    ("a parcel is missing", "paid_orders_are_fulfilled_once", drop("fulfilments", order_id="a")),
    (
        "a parcel is sent twice",
        "paid_orders_are_fulfilled_once",
        add("fulfilments", {"order_id": "a", "event_id": "order_paid a1", "checkout_id": "a1", "amount": "12.50"}),
    ),
    ("both payments pay", "paid_orders_are_fulfilled_once", move("a2", (25, "paid"))),
    ("a paid row is forged", "only_paid_orders_are_marked_paid", move("d1", (17, "abandoned"), (18, "paid"))),
    ("the shop forgets", "only_paid_orders_are_marked_paid", change("orders", {"id": "a"}, paid=False)),
    ("a paid order is changed", "what_was_paid_is_what_is_shipped", change("orders", {"id": "a"}, amount="198.00")),
    ("other goods are shipped", "what_was_paid_is_what_is_shipped", change("fulfilments", {}, amount="198.00")),
    ("the warehouse is not told", "effects_happen_with_one_event", lambda record: record["effects"].clear()),
    (
        "two events tell the warehouse",
        "effects_happen_with_one_event",
        add("effects", {"order_id": "a", "event_id": "x"}),
    ),
    ("a cent is missing", "only_the_right_money_pays", change("service_deposits", {"id": "a1"}, input_amount="12.49")),
    ("the order cost something else by then", "only_the_right_money_pays", add("versions", version("a", 1, "13.00"))),
    ("it was cancelled by then", "only_the_right_money_pays", add("versions", version("a", 1, is_open=False))),
    (
        "right money is refused",
        "only_wrong_payments_are_held",
        change("service_deposits", {"id": "b1"}, input_amount="12.5"),
    ),
    ("held for no change", "only_wrong_payments_are_held", drop("versions", order_id="c", amount="99.00")),
    ("held as a duplicate of nothing", "only_wrong_payments_are_held", move("b1", (3, "held"), reason="duplicate")),
    ("the second payment is forgotten", "second_payments_are_noticed", move("a2", (17, "abandoned"))),
    ("a browser has an unknown page", "every_location_is_stored", drop("checkouts", checkout_id="d1")),
    (
        "its page is another order's",
        "every_location_is_stored",
        change("locations", {"checkout_id": "d1"}, order_id="a"),
    ),
    ("paid becomes pending", "no_state_goes_backwards", move("a1", (1, "paid"), (2, "pending"), (3, "paid"))),
    (
        "the history ends elsewhere",
        "no_state_goes_backwards",
        change("checkouts", {"checkout_id": "d1"}, status="held"),
    ),
    (
        "an event is left over",
        "every_event_is_delivered_once",
        change("events", {"event_id": "order_abandoned d1"}, delivered_at=None),
    ),
    ("a receiver's row is missing", "every_event_is_delivered_once", drop("notes", event_id="order_pending a1")),
    ("a receiver's row is doubled", "every_event_is_delivered_once", add("notes", {"event_id": "order_pending a1"})),
    ("a checkout waits for ever", "everything_is_at_rest", move("d1", (1, "pending"))),
]


@pytest.mark.parametrize(("promise", "breaks"), [pytest.param(*case[1:], id=case[0]) for case in BREAKS])
def test_a_broken_promise_is_found(record: Record, promise: str, breaks: Callable[[Record], None]) -> None:
    breaks(record)
    assert promise in {violation.promise for violation in check(record)}


def test_a_change_at_about_the_same_time_may_be_seen_or_not(record: Record) -> None:
    record["versions"].append(version("a", 2.5, "13.00"))
    assert check(record) == []
