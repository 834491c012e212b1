"""Promises of a shop and its payments service after any crash, checked on rows and records alone.

No module of the extension is used. `ALWAYS` holds at every moment, also right after a crash; `AT_REST` holds when
reconcile has finished and nothing is due. The crash tests and the soak each add their own promises.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from tests.states.model import LEGAL

Row = dict[str, Any]
Violations = Iterator[str]
Known = TypeVar("Known")

#: States of checkouts that money has arrived for.
SETTLED = frozenset({"part", "paid", "held", "rejected"})
#: Events that no receiver gets any more after a later event of the order, or of a claim's payout.
_OVERTAKEN = {"order_pending", "order_abandoned", "claim_wanted"}
# The moves from the documentation, deliberately repeated here.
_PAYOUT_MOVES = {
    "new": {"claimable", "waiting", "ready", "sending", "cancelled"},
    "claimable": {"waiting", "cancelled"},
    "waiting": {"waiting", "ready", "cancelled"},
    "ready": {"sending", "cancelled"},
    "sending": {"sent", "ready", "failed", "unknown"},
    "unknown": {"sent", "ready"},
    "sent": {"completed", "failed"},
    "failed": {"ready"},
}
_LEGAL_OF_PAYOUTS = {(before, after) for before, others in _PAYOUT_MOVES.items() for after in others}
_PAID_OUT = {"sent", "completed"}


@dataclass(frozen=True)
class Violation:
    """A broken promise, with its evidence."""

    promise: str
    evidence: str


@dataclass(frozen=True)
class Facts:
    """The records of both sides.

    :ivar rows: the shop's tables, by their names.
    :ivar arrived: the ids of checkouts whose deposit is completed at the service.
    :ivar said: the ids of these checkouts that the service ever reported as completed.
    :ivar given_out: each payment page that a browser was sent to, as columns of its checkout.
    :ivar closed: the orders that the shop closed in the transaction of their payment.
    :ivar disbursements: the disbursements that the service was asked for.
    :ivar written: the rows that receivers wrote to the shop's database: `receiver`, and columns of the event.
    :ivar told: the same for messages to other systems, which may be repeated.
    :ivar listeners: the receivers of events, by the event's name.
    """

    rows: Mapping[str, list[Row]]
    arrived: Collection[str]
    said: Collection[str]
    given_out: list[Row]
    closed: set[str]
    disbursements: list[Row]
    written: list[Row]
    told: list[Row]
    listeners: Callable[[str], set[str]]

    @property
    def checkouts(self) -> list[Row]:
        return self.rows["paycheckout_checkout"]

    @property
    def payouts(self) -> list[Row]:
        return self.rows["paycheckout_payout"]

    @cached_property
    def events(self) -> dict[str, Row]:
        """The events, by id."""
        return {row["event_id"]: row for row in self.rows["paycheckout_event"]}

    @cached_property
    def paid(self) -> dict[str, list[Row]]:
        """The paid checkouts of each order that has any."""
        return grouped([row for row in self.checkouts if row["status"] == "paid"], "order_id")

    @cached_property
    def alive(self) -> dict[str, list[Row]]:
        """The disbursements of each payout that did not fail; key "" has the disbursements without a payout."""
        payout_of = {name: row["reference"] for row in self.payouts for name in _references(row)}
        by_payout: dict[str, list[Row]] = defaultdict(list)
        for disbursement in self.disbursements:
            owner = payout_of.get(disbursement["reference"], "")
            if not owner or disbursement["status"] != "failed":
                by_payout[owner].append(disbursement)
        return by_payout


def grouped(rows: list[Row], key: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return groups


def lines(row: Row) -> list[Row]:
    """The history of a checkout or payout."""
    return [json.loads(line) for line in row["history"].splitlines()]


def moves(row: Row) -> list[str]:
    """The states of a checkout or payout after its first state."""
    return [line["to"] for line in lines(row) if "to" in line]


def _references(payout: Row) -> set[str]:
    """Every reference with which the payout was ever sent to the service."""
    return {payout["service_reference"], *(each["service_reference"] for each in json.loads(payout["earlier"] or "[]"))}


def every_page_is_stored(facts: Facts) -> Violations:
    stored = {row["url"]: row for row in facts.checkouts}
    for page in facts.given_out:
        if not page.items() <= stored.get(page["url"], {}).items():
            yield f"a browser was sent to {page}, which is not stored"


def no_state_goes_backwards(facts: Facts) -> Violations:
    """The moves in each history are allowed and consecutive, and end in the stored state."""
    for checkout in facts.checkouts:
        yield from _wrong_moves(checkout["checkout_id"], checkout, ["created", *moves(checkout)], LEGAL)
    for payout in facts.payouts:
        states = ["new", *(moves(payout) or [payout["status"]])]
        yield from _wrong_moves(payout["reference"], payout, states, _LEGAL_OF_PAYOUTS)


def _wrong_moves(name: str, row: Row, states: list[str], legal: Collection[tuple[str | None, str]]) -> Violations:
    if states[-1] != row["status"] or not all(move in legal for move in pairwise(states)):
        yield f"{name} is {row['status']}, its history goes {states}"


def an_order_is_paid_and_told_once(facts: Facts) -> Violations:
    """The checkout's state, its mark, its event and the shop's rows of the same transaction agree."""
    counts = Counter(row["order_id"] for row in facts.events.values() if row["name"] in ("order_paid", "request_paid"))
    for order_id in {*facts.paid, *counts, *facts.closed}:
        state = len(facts.paid.get(order_id, ())), counts[order_id], order_id in facts.closed
        if state != (1, 1, True):
            yield f"{order_id} is paid {state[0]} times, told {state[1]} times, and closed by the shop: {state[2]}"
    for row in facts.checkouts:
        if row["paid_order_id"] != (row["order_id"] if row["status"] == "paid" else None):
            yield f"{row['checkout_id']} is {row['status']} with paid_order_id {row['paid_order_id']}"


def nothing_is_made_up(facts: Facts) -> Violations:
    for row in facts.checkouts:
        if row["status"] in SETTLED and row["checkout_id"] not in facts.said:
            yield f"{row['checkout_id']} is {row['status']}, which the service never said"


def nobody_is_told_twice_or_of_nothing(facts: Facts) -> Violations:
    """Each effect in the database exists once; each message to another system is about a stored event, by its id."""
    for row in (*facts.written, *facts.told):
        event = facts.events.get(row["event_id"], {})
        columns = row.items() - {("receiver", row["receiver"])}
        if not columns <= event.items() or row["receiver"] not in facts.listeners(event["name"]):
            yield f"{row} is of no such event: {event}"
    for (receiver, event_id), times in Counter((row["receiver"], row["event_id"]) for row in facts.written).items():
        if times > 1:
            yield f"{receiver} wrote {facts.events.get(event_id)} {times} times"


def a_payouts_moves_have_their_events(facts: Facts) -> Violations:
    names = {f"payout_{state}" for state in ("sent", "completed", "failed", "unknown")}
    moved = Counter((row["reference"], f"payout_{state}") for row in facts.payouts for state in moves(row))
    counts = Counter((row["payout_reference"], row["name"]) for row in facts.events.values())
    for reference, name in moved.keys() | counts.keys():
        if name in names and moved[reference, name] != counts[reference, name]:
            yield f"{reference}: {moved[reference, name]} moves, {counts[reference, name]} events {name}"


def nothing_is_paid_out_twice_or_made_up(facts: Facts) -> Violations:
    for reference, disbursements in facts.alive.items():
        if not reference or len(disbursements) > 1:
            yield f"paid for {reference or 'no payout'}: {disbursements}"


def no_payment_is_lost(facts: Facts) -> Violations:
    """A completed deposit of a stored checkout is counted, or visibly held."""
    held_events = grouped([row for row in facts.events.values() if row["name"] == "payment_held"], "checkout_id")
    for row in facts.checkouts:
        key, status = row["checkout_id"], row["status"]
        reasons = [event["reason"] for event in held_events.get(key, ())]
        # A held payment of a request, which has few signals, has its reason on the checkout only.
        expected = [] if row["order_id"].startswith("request:") else [row["reason"]]
        if key in facts.arrived and (status not in SETTLED or (status == "held" and reasons != expected)):
            yield f"the money of {key} arrived, but it is {status} for {row['reason']}, and told as held for {reasons}"


def every_event_is_told(facts: Facts) -> Violations:
    """Each event reached its receivers, except events that later events replaced."""
    delivered = {(row["receiver"], row["event_id"]) for row in (*facts.written, *facts.told)}
    of_order = grouped(list(facts.events.values()), "order_id")
    for event in facts.events.values():
        if event["superseded_at"] is not None:
            # Another page of the order may have been paid or opened before the event of this page was stored.
            others = (
                other["name"]
                for other in of_order[event["order_id"]]
                if other["payout_reference"] == event["payout_reference"]
                and (other["id"] > event["id"] or other["checkout_id"] != event["checkout_id"])
            )
            if event["name"] not in _OVERTAKEN or set(others) <= {event["name"]}:
                yield f"{event['name']} of {event['order_id']} was superseded by nothing"
            continue
        missing = {name for name in facts.listeners(event["name"]) if (name, event["event_id"]) not in delivered}
        if missing or event["delivered_at"] is None:
            yield f"{event['name']} {event['event_id']}: delivered {event['delivered_at']}, not to {missing}"


def both_books_are_equal(facts: Facts) -> Violations:
    """The service has each payout that the shop believes to be paid, with its amount; and the reverse."""
    for payout in facts.payouts:
        believed = [(Decimal(payout["amount"]), payout["currency"])] if payout["status"] in _PAID_OUT else []
        paid = [
            (Decimal(disbursement["amount"]), disbursement["currency"])
            for disbursement in facts.alive.get(payout["reference"], ())
        ]
        if believed != paid:
            yield f"{payout['reference']} is {payout['status']}, {believed}; the service has {paid}"


ALWAYS: tuple[Callable[[Facts], Violations], ...] = (
    every_page_is_stored,
    no_state_goes_backwards,
    an_order_is_paid_and_told_once,
    nothing_is_made_up,
    nobody_is_told_twice_or_of_nothing,
    a_payouts_moves_have_their_events,
    nothing_is_paid_out_twice_or_made_up,
)
AT_REST: tuple[Callable[[Facts], Violations], ...] = (no_payment_is_lost, every_event_is_told, both_books_are_equal)


def broken(facts: Known, *promises: Callable[[Known], Violations]) -> list[Violation]:
    """Every promise that these facts break."""
    return [Violation(promise.__name__, evidence) for promise in promises for evidence in promise(facts)]
