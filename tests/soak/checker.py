"""The accountant: says from the record alone whether the shop kept its promises. Knows nothing of flask_paycheckout.

A record holds, by name, lists of rows: of the service `service_deposits`, `service_checkouts` and
`service_disbursements`; of the shop `checkouts`, `payouts`, `events`, `orders`, `versions` (how an order stood, and
since when), `fulfilments`, `notes`, and the lines of its `export`; and of those outside `effects` (what the warehouse
was told) and `locations` (every payment page a browser was sent to). `tolerance` is by how many seconds the times of
two processes may differ.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any

from tests.soak.books import BOOKS_PROMISES, Books

Row = dict[str, Any]
Violations = Iterator[str]

_SETTLED = {"paid", "held", "rejected"}
# Events that are no longer true when something else happened to the order, and are then told to nobody any more.
_OVERTAKEN = {"order_pending", "order_abandoned"}
# Written down here a second time, from what README.md says about the states.
_MOVES = {
    "created": {"pending", "paid", "held", "abandoned"},
    "pending": {"paid", "held", "abandoned"},
    "abandoned": {"pending", "paid", "held"},
    "held": {"paid", "rejected"},
    "paid": set(),
    "rejected": set(),
}
_TOTAL = ("kind", "amount", "currency", "other_currency")


@dataclass(frozen=True)
class Violation:
    """A broken promise, with what shows it."""

    promise: str
    evidence: str


class Facts:
    """A record, looked up in the ways that the promises need."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.checkouts: list[Row] = record["checkouts"]
        self.events: list[Row] = record["events"]
        self.notes: list[Row] = record["notes"]
        self.locations: list[Row] = record["locations"]
        self.orders: list[Row] = record["orders"]
        self.tolerance = timedelta(seconds=record["tolerance"])
        self._record = record

    @cached_property
    def checkout(self) -> dict[str, Row]:
        return {row["checkout_id"]: row for row in self.checkouts}

    @cached_property
    def completed(self) -> dict[str, Row]:
        return {row["id"]: row for row in self._record["service_deposits"] if row["status"] == "completed"}

    @cached_property
    def known_completed(self) -> list[tuple[Row, Row]]:
        """Each stored checkout whose deposit is completed, with that deposit."""
        return [(self.checkout[key], row) for key, row in self.completed.items() if key in self.checkout]

    @cached_property
    def paid(self) -> dict[str, list[Row]]:
        return _grouped([row for row in self.checkouts if row["status"] == "paid"], "order_id")

    @cached_property
    def fulfilments(self) -> dict[str, list[Row]]:
        return _grouped(self._record["fulfilments"], "order_id")

    @cached_property
    def effects(self) -> dict[str, list[Row]]:
        return _grouped(self._record["effects"], "order_id")

    @cached_property
    def versions(self) -> dict[str, list[Row]]:
        return _grouped(self._record["versions"], "order_id")

    @cached_property
    def news(self) -> dict[tuple[str, str], list[Row]]:
        grouped = defaultdict(list)
        for row in self.events:
            grouped[row["name"], row["checkout_id"]].append(row)
        return grouped

    def checkouts_of(self, order_id: str) -> list[Row]:
        return self._by_order.get(order_id, [])

    @cached_property
    def _by_order(self) -> dict[str, list[Row]]:
        return _grouped(self.checkouts, "order_id")

    def versions_around(self, order_id: str, moment: datetime) -> list[Row]:
        """How the order stood at about that moment: one version, or several when it was just changing."""
        known = self.versions.get(order_id, [])
        until = [utc(after["since"]) for after in known[1:]] + [datetime.max.replace(tzinfo=UTC)]
        return [
            row
            for row, end in zip(known, until, strict=False)
            if utc(row["since"]) <= moment + self.tolerance and end > moment - self.tolerance
        ]


def _grouped(rows: list[Row], key: str) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row[key]].append(row)
    return grouped


def utc(text: str) -> datetime:
    """An aware UTC time from ISO 8601 text; text without an offset is UTC."""
    found = datetime.fromisoformat(text)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _moves(checkout: Row) -> list[tuple[datetime, str]]:
    lines = [json.loads(line) for line in checkout["history"].splitlines()]
    return [
        (utc(line["at"]), "created" if line["what"] == "created" else line["to"])
        for line in lines
        if line["what"] in {"created", "moved", "resolved"}
    ]


def _asked(checkout: Row) -> tuple[str, str, str, str | None]:
    return (
        checkout["total_kind"],
        checkout["total_amount"],
        checkout["total_currency"],
        checkout["total_other_currency"],
    )


def _is_same_total(checkout: Row, version: Row) -> bool:
    kind, amount, currency, other = _asked(checkout)
    wanted = tuple(version[name] for name in _TOTAL)
    return Decimal(amount) == Decimal(wanted[1]) and (kind, currency, other) == (wanted[0], wanted[2], wanted[3])


def _is_right_money(checkout: Row, deposit: Row) -> bool:
    kind, amount, currency, _ = _asked(checkout)
    side = "input" if kind == "pay" else "output"
    return Decimal(deposit[f"{side}_amount"]) == Decimal(amount) and deposit[f"{side}_currency"] == currency


# The promises


def no_payment_is_lost(facts: Facts) -> Violations:
    """A completed deposit of a known checkout is paid, or visibly held."""
    for checkout, _ in facts.known_completed:
        key, status = checkout["checkout_id"], checkout["status"]
        if status not in _SETTLED:
            yield f"{key} of {checkout['order_id']}: the money is there, the checkout is {status}"
        if status == "held" and len(facts.news["payment_held", key]) != 1:
            yield f"{key} of {checkout['order_id']} is held, and {len(facts.news['payment_held', key])} events say so"


def nothing_is_made_up(facts: Facts) -> Violations:
    """What is paid or held has a completed deposit at the service."""
    for checkout in facts.checkouts:
        if checkout["status"] in _SETTLED and checkout["checkout_id"] not in facts.completed:
            yield f"{checkout['checkout_id']} is {checkout['status']}, and the service has no money for it"


def paid_orders_are_fulfilled_once(facts: Facts) -> Violations:
    """A paid order has one fulfilment, with the event and the checkout that paid; another order has none."""
    for order in {*facts.paid, *facts.fulfilments}:
        paying, sent = facts.paid.get(order, []), facts.fulfilments.get(order, [])
        if len(paying) > 1:
            yield f"{order} is paid {len(paying)} times"
        if len(sent) != bool(paying):
            yield f"{order} is {'paid' if paying else 'not paid'} and fulfilled {len(sent)} times"
        for checkout in paying:
            told = facts.news["order_paid", checkout["checkout_id"]]
            if [row["event_id"] for row in told] != [row["event_id"] for row in sent]:
                yield f"{order} is fulfilled, but not for the event that tells of its payment"


def only_paid_orders_are_marked_paid(facts: Facts) -> Violations:
    """The shop's own mark, the extension's, and the checkout's state say the same."""
    for order in facts.orders:
        marks = [row["paid_order_id"] for row in facts.checkouts_of(order["id"]) if row["paid_order_id"]]
        paying = [row["order_id"] for row in facts.paid.get(order["id"], [])]
        if bool(order["paid"]) != bool(paying) or marks != paying:
            yield f"{order['id']}: marked {order['paid']}, checkouts paid: {paying}, marked as paying: {marks}"


def what_was_paid_is_what_is_shipped(facts: Facts) -> Violations:
    """A paid order stays as it was paid, and so does the parcel, however long its packing took."""
    for order in facts.orders:
        for checkout in facts.paid.get(order["id"], []):
            if not _is_same_total(checkout, order):
                yield f"{order['id']} was paid as {_asked(checkout)}, and is now {[order[name] for name in _TOTAL]}"
            for parcel in facts.fulfilments.get(order["id"], []):
                if Decimal(parcel["amount"]) != Decimal(checkout["total_amount"]):
                    yield f"{order['id']} was paid as {_asked(checkout)}, and goods for {parcel['amount']} were shipped"


def effects_happen_with_one_event(facts: Facts) -> Violations:
    """The warehouse was told of every paid order, always by the same event, and of no other order."""
    for order in {*facts.paid, *facts.effects}:
        told = {row["event_id"] for row in facts.effects.get(order, [])}
        wanted = {
            event["event_id"]
            for checkout in facts.paid.get(order, [])
            for event in facts.news["order_paid", checkout["checkout_id"]]
        }
        if told != wanted:
            yield f"{order}: the warehouse was told by events {sorted(told)}, its payment's are {sorted(wanted)}"


def only_the_right_money_pays(facts: Facts) -> Violations:
    """The deposit is what was asked for, and what the order cost when it was taken as paid."""
    for checkout in (row for rows in facts.paid.values() for row in rows):
        key, deposit = checkout["checkout_id"], facts.completed.get(checkout["checkout_id"])
        if deposit is not None and not _is_right_money(checkout, deposit):
            yield f"{key}: asked {_asked(checkout)}, paid by {deposit}"
        taken = next((at for at, state in _moves(checkout) if state == "paid"), None)
        if taken is None:
            yield f"{key} is paid, and its history does not say when"
        elif not any(
            version["open"] and _is_same_total(checkout, version)
            for version in facts.versions_around(checkout["order_id"], taken)
        ):
            yield f"{key}: {_asked(checkout)} is not what {checkout['order_id']} cost at {taken}"


def only_wrong_payments_are_held(facts: Facts) -> Violations:
    """What is held has the reason it is held for."""
    for checkout, deposit in facts.known_completed:
        if checkout["status"] == "held" and not _is_justified(facts, checkout, deposit):
            yield f"{checkout['checkout_id']} of {checkout['order_id']} is held as {checkout['reason']} without reason"


def _is_justified(facts: Facts, checkout: Row, deposit: Row) -> bool:
    held = next((at for at, state in _moves(checkout) if state == "held"), None)
    if held is None:
        return False
    around = facts.versions_around(checkout["order_id"], held)
    right = _is_right_money(checkout, deposit)
    others = [row for row in facts.paid.get(checkout["order_id"], []) if row is not checkout]
    reasons = {
        "amount_mismatch": not right,
        "duplicate": right and bool(others),
        "order_changed": right and any(not _is_same_total(checkout, version) for version in around),
        "order_not_payable": right and (any(not version["open"] for version in around) or bool(others)),
    }
    return reasons.get(checkout["reason"], False)


def second_payments_are_noticed(facts: Facts) -> Violations:
    """Of several payments of one order at most one pays; with the right money the others are held as duplicates."""
    payments: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for checkout, deposit in facts.known_completed:
        payments[checkout["order_id"]].append((checkout, deposit))
    for order, paid in facts.paid.items():
        first = min((at for row in paid for at, state in _moves(row) if state == "paid"), default=None)
        for checkout, deposit in payments[order]:
            if checkout["status"] == "paid":
                continue
            late = first is not None and any(
                at > first + facts.tolerance for at, state in _moves(checkout) if state == "held"
            )
            settled = checkout["status"] in {"held", "rejected"}  # a refund rejects it
            wanted = "duplicate" if late and _is_right_money(checkout, deposit) else None
            told = [row["reason"] for row in facts.news["payment_held", checkout["checkout_id"]]]
            if not settled or (wanted and (checkout["reason"], told) != (wanted, [wanted])):
                yield (
                    f"{order} was paid by {paid[0]['checkout_id']}; its other payment {checkout['checkout_id']}"
                    f" is {checkout['status']}, reason {checkout['reason']}, told as {told}"
                )


def every_location_is_stored(facts: Facts) -> Violations:
    """Each page that a browser was sent to is a checkout of that order in the shop's database."""
    for sent in facts.locations:
        stored = facts.checkout.get(sent["checkout_id"])
        if stored is None or (stored["order_id"], stored["url"]) != (sent["order_id"], sent["url"]):
            yield f"a browser of {sent['order_id']} was sent to {sent['url']}, stored: {stored and stored['order_id']}"


def no_state_goes_backwards(facts: Facts) -> Violations:
    """The moves in each history are ones that exist, one after the other, and end where the checkout stands."""
    for checkout in facts.checkouts:
        states = [state for _, state in _moves(checkout)]
        wrong = [f"{before} to {after}" for before, after in pairwise(states) if after not in _MOVES[before]]
        if wrong or states[:1] != ["created"] or states[-1] != checkout["status"]:
            yield f"{checkout['checkout_id']} is {checkout['status']}, its history goes {states}"


def every_event_is_delivered_once(facts: Facts) -> Violations:
    """Each event reached its receivers, and what they wrote in the database is there once; of some, time took care."""
    noted = Counter(row["event_id"] for row in facts.notes)
    for event in facts.events:
        times = noted.pop(event["event_id"], 0)
        if event["superseded_at"] is not None and event["name"] in _OVERTAKEN:
            if times > 1:
                yield f"{event['name']} {event['event_id']}: superseded, noted {times} times"
            continue
        if event["delivered_at"] is None or times != 1:
            yield f"{event['name']} {event['event_id']}: delivered {event['delivered_at']}, noted {times} times"
    for event_id in noted:
        yield f"a receiver was told of {event_id}, which is no event"


def everything_is_at_rest(facts: Facts) -> Violations:
    """Long after the last customer left, nothing waits any more."""
    for checkout in facts.checkouts:
        if checkout["status"] in {"created", "pending"} or checkout["next_read_at"] is not None:
            yield f"{checkout['checkout_id']} is {checkout['status']}, next read {checkout['next_read_at']}"


PROMISES: tuple[Callable[[Facts], Violations], ...] = (
    no_payment_is_lost,
    nothing_is_made_up,
    paid_orders_are_fulfilled_once,
    only_paid_orders_are_marked_paid,
    what_was_paid_is_what_is_shipped,
    effects_happen_with_one_event,
    only_the_right_money_pays,
    only_wrong_payments_are_held,
    second_payments_are_noticed,
    every_location_is_stored,
    no_state_goes_backwards,
    every_event_is_delivered_once,
    everything_is_at_rest,
)


def check(record: dict[str, Any]) -> list[Violation]:
    facts, books = Facts(record), Books(record)
    found = [Violation(promise.__name__, evidence) for promise in PROMISES for evidence in promise(facts)]
    return found + [Violation(promise.__name__, words) for promise in BOOKS_PROMISES for words in promise(books)]
