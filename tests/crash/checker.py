"""What must hold whoever died when, told from database rows and the record alone; nothing of the extension is used.

`complaints` holds at every moment, also right after a death. `complaints_at_rest` holds once reconcile came round.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.crash import accountant
from tests.crash.databases import Rows
from tests.crash.record import Record
from tests.crash.world import RECEIVERS
from tests.states.model import LEGAL

_SIGNAL = {
    "pending": "order_pending",
    "part": "order_part_paid",
    "paid": "order_paid",
    "held": "payment_held",
    "abandoned": "order_abandoned",
}


def complaints(rows: Rows, record: Record) -> list[str]:
    return [
        *_pages(rows, record),
        *_moves(rows),
        *_one_payment(rows),
        *_one_commit(rows),
        *_events(rows),
        *_tellings(rows, record),
        *_evidence(rows, record),
        *_hints(rows, record),
        *_excess(rows),
        *_requests(rows),
        *_reminders(rows),
        *_signatures(rows, record),
        *accountant.complaints(rows, record.paid),
    ]


def complaints_at_rest(rows: Rows, record: Record, ends: dict[str, str]) -> list[str]:
    """Promises that reconcile has not kept although it had the time for it."""
    return [
        *complaints(rows, record),
        *money_without_an_order(rows, record),
        *_untold(rows, record),
        *_stuck(rows),
        *_other_ends(rows, ends),
        *accountant.complaints_at_rest(rows, record.paid),
    ]


def _signatures(rows: Rows, record: Record) -> Iterator[str]:
    """Every call about a checkout or payout is signed by its own account."""
    accounts = {row["checkout_id"]: row["account"] for row in rows["paycheckout_checkout"]}
    accounts |= {row["service_reference"]: row["account"] for row in rows["paycheckout_payout"]}
    for call in record.lines("signed"):
        for name in call["names"]:
            if accounts.get(name, call["account"]) != call["account"]:
                yield f"a call about {name} of {accounts[name]!r} was signed by {call['account']!r}"


def money_without_an_order(rows: Rows, record: Record) -> Iterator[str]:
    """Completed deposits of stored checkouts that are neither paid nor held."""
    for row in rows["paycheckout_checkout"]:
        deposit = record.deposits.get(row["checkout_id"])
        if deposit and deposit["status"] == "completed" and row["status"] not in ("part", "paid", "held"):
            yield f"the money of {row['checkout_id']} arrived, but it is {row['status']}"


def _pages(rows: Rows, record: Record) -> Iterator[str]:
    stored = {row["url"]: row["checkout_id"] for row in rows["paycheckout_checkout"]}
    for url in record.given_out:
        if record.urls.get(stored.get(url, "")) != url:
            yield f"a customer holds {url}, which is not stored"


def _moves(rows: Rows) -> Iterator[str]:
    for row in rows["paycheckout_checkout"]:
        moves = [entry["to"] for entry in map(json.loads, row["history"].splitlines()) if "to" in entry]
        for state, to in zip(["created", *moves], moves, strict=False):
            if (state, to) not in LEGAL:
                yield f"{row['checkout_id']} went from {state} to {to}"
        # Noting that money arrived, while its move fails, is a revision of its own.
        if ["created", *moves][-1] != row["status"] or not 0 <= row["revision"] - len(moves) <= 1:
            yield f"{row['checkout_id']} is {row['status']} at revision {row['revision']}, its story says {moves}"


def _one_payment(rows: Rows) -> Iterator[str]:
    paid = Counter(row["order_id"] for row in rows["paycheckout_checkout"] if row["status"] == "paid")
    told = Counter(row["order_id"] for row in rows["paycheckout_event"] if row["name"] == "order_paid")
    if paid != told or any(count > 1 for count in paid.values()):
        yield f"paid attempts by order: {dict(paid)}; events of a payment: {dict(told)}"
    for row in rows["paycheckout_checkout"]:
        if row["paid_order_id"] != (row["order_id"] if row["status"] == "paid" else None):
            yield f"{row['checkout_id']} is {row['status']} with paid_order_id {row['paid_order_id']}"


def _one_commit(rows: Rows) -> Iterator[str]:
    """What the atomic receiver wrote is never seen apart from the payment."""
    paid = {row["order_id"] for row in rows["paycheckout_checkout"] if row["status"] == "paid"}
    closed = {
        row["order_id"] for row in rows["fulfilment"] if (row["receiver"], row["name"]) == ("stock", "order_paid")
    }
    if paid != closed:
        yield f"orders paid: {sorted(paid)}; orders that the shop closed: {sorted(closed)}"


def _tellings(rows: Rows, record: Record) -> Iterator[str]:
    events = {row["event_id"]: (row["name"], row["order_id"]) for row in rows["paycheckout_event"]}
    told = [(row["event_id"], row["name"], row["order_id"]) for row in (*rows["fulfilment"], *record.lines("told"))]
    for event_id, *facts in told:
        if events.get(event_id) != tuple(facts):
            yield f"somebody was told {facts} with an event_id that is not stored with it"
    for (receiver, event_id), count in Counter(
        (row["receiver"], row["event_id"]) for row in rows["fulfilment"]
    ).items():
        if count != 1:
            yield f"{receiver} wrote {events.get(event_id)} {count} times"


def _events(rows: Rows) -> Iterator[str]:
    """Here no order has two attempts that lapse, so that every move is news."""
    moves = Counter(
        (row["checkout_id"], _SIGNAL[entry["to"]])
        for row in rows["paycheckout_checkout"]
        for entry in map(json.loads, row["history"].splitlines())
        if "to" in entry
    )
    moves.update((row["checkout_id"], "checkout_created") for row in rows["paycheckout_checkout"])
    moves.update((row["checkout_id"], "payment_resolved") for row in rows["paycheckout_checkout"] if _is_decided(row))
    others = [row for row in rows["paycheckout_event"] if row["name"] != "payment_reminder"]
    of_checkouts = [row for row in others if row["payout_reference"] is None]
    stored = Counter((row["checkout_id"], row["name"]) for row in of_checkouts)
    if moves != stored:
        yield f"moves without their event: {dict(moves - stored)}; events without their move: {dict(stored - moves)}"


def _is_decided(checkout: Mapping[str, Any]) -> bool:
    return any(json.loads(entry)["what"] == "resolved" for entry in checkout["history"].splitlines())


def _excess(rows: Rows) -> Iterator[str]:
    """What came too much is given back by a refund of the very commit in which a person accepts the payment."""
    for row in filter(_is_decided, rows["paycheckout_checkout"]):
        refunds = [one["counts"] for one in rows["paycheckout_payout"] if one["refund_of"] == row["checkout_id"]]
        if (refunds, row["refunded_amount"]) != (["0.50"], "0.50"):
            yield f"{row['checkout_id']} was accepted with the refunds {refunds} and {row['refunded_amount']} refunded"


def _requests(rows: Rows) -> Iterator[str]:
    """A request and its withdrawal are each committed with the deed."""
    deeds = Counter((row["deed"], row["subject"]) for row in rows["paycheckout_deed"])
    requests = rows["paycheckout_request"]
    asked = Counter(("requested", row["reference"]) for row in requests)
    asked.update(("withdrawn", row["reference"]) for row in requests if row["withdrawn_at"])
    if asked != Counter({deed: count for deed, count in deeds.items() if deed[0] in ("requested", "withdrawn")}):
        yield f"requests {dict(asked)}, deeds {dict(deeds)}"


def _reminders(rows: Rows) -> Iterator[str]:
    """An order has no reminder more to come exactly if its only one is stored."""
    told = Counter(row["order_id"] for row in rows["paycheckout_event"] if row["name"] == "payment_reminder")
    first = {row["order_id"]: row["remind_at"] for row in reversed(rows["paycheckout_checkout"])}
    waiting = first | {f"request:{row['reference']}": row["remind_at"] for row in rows["paycheckout_request"]}
    for order_id, at in waiting.items():
        if told[order_id] != (at is None):
            yield f"{order_id} is to be reminded at {at} and has {told[order_id]} reminders"


def _evidence(rows: Rows, record: Record) -> Iterator[str]:
    seen = {entry["id"] for entry in record.lines("read") if entry["status"] == "completed"}
    for row in rows["paycheckout_checkout"]:
        if row["status"] in ("part", "paid", "held") and row["checkout_id"] not in seen:
            yield f"{row['checkout_id']} is {row['status']}, which the service never said"


def _hints(rows: Rows, record: Record) -> Iterator[str]:
    """A webhook is answered 200 when it is counted, or about nothing that a read could change; else 503."""
    answers = Counter((entry["id"], entry["status"]) for entry in record.lines("hinted"))
    stored = {row["checkout_id"]: row for row in rows["paycheckout_checkout"]}
    for (checkout_id, status), count in answers.items():
        row = stored.get(checkout_id)
        if status not in (200, 503):
            yield f"a webhook about {checkout_id} was answered {status}"
        if (
            status == 200
            and row
            and row["webhooks"] < count
            and row["status"] not in ("part", "paid", "held", "rejected")
        ):
            yield f"{count} webhooks about {checkout_id} were answered 200, {row['webhooks']} stored"


def _untold(rows: Rows, record: Record) -> Iterator[str]:
    written = {(row["receiver"], row["event_id"]) for row in rows["fulfilment"]}
    outside = {entry["event_id"] for entry in record.lines("told")}
    for row in rows["paycheckout_event"]:
        if row["superseded_at"] is not None:
            if row["name"] not in ("order_pending", "order_abandoned") or not _has_successor(rows, row):
                yield f"{row['name']} of {row['order_id']} was superseded by nothing"
            continue
        missing = [receiver for receiver in RECEIVERS if (receiver, row["event_id"]) not in written]
        if missing or row["event_id"] not in outside:
            yield f"{row['name']} of {row['order_id']} was not told to {missing or 'the one outside'}"


def _has_successor(rows: Rows, event: Mapping[str, Any]) -> bool:
    return any(
        row["order_id"] == event["order_id"] and row["id"] > event["id"] and row["name"] != event["name"]
        for row in rows["paycheckout_event"]
    )


def _stuck(rows: Rows) -> Iterator[str]:
    for row in rows["paycheckout_event"]:
        ended = row["delivered_at"] or row["superseded_at"]
        if ended is None or row["next_attempt_at"] or row["lease_token"] or row["lease_until"]:
            yield f"{row['name']} of {row['order_id']} still waits, or is still held by somebody"
    paid = {row["paid_order_id"] for row in rows["paycheckout_checkout"]}
    for row in rows["paycheckout_checkout"]:
        watched = row["next_read_at"] is not None
        is_unpaid_part = row["status"] == "part" and row["order_id"] not in paid
        if watched != (is_unpaid_part or row["status"] in ("created", "pending", "abandoned")):
            yield f"{row['checkout_id']} is {row['status']}, next read at {row['next_read_at']}"


def _other_ends(rows: Rows, ends: dict[str, str]) -> Iterator[str]:
    best = ("paid", "held", "pending", "part", "created", "abandoned")
    for order_id, expected in ends.items():
        states = {row["status"] for row in rows["paycheckout_checkout"] if row["order_id"] == order_id}
        found = next((state for state in best if state in states), "unpaid")
        if found != expected:
            yield f"order {order_id} is {found}, not {expected}"
