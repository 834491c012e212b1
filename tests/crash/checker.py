"""Promises that hold after any crash, checked on database rows and the record alone; nothing of the extension is used.

`complaints` checks the promises of every moment, also right after a crash; `complaints_at_rest` checks those that hold
once reconcile has run. To `tests/promises.py` this adds promises of this small shop: it owes each payee one sum, so
that a payee who is in the service's books twice was paid twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise

from tests.crash.databases import Rows
from tests.crash.record import Record
from tests.crash.world import OUTSIDE
from tests.payouts.books import WALLET
from tests.promises import ALWAYS, AT_REST, Facts, Row, broken, lines, moves, no_payment_is_lost

_REMINDERS = ("payment_reminder", "request_reminder")
_SIGNAL = {
    "pending": "order_pending",
    "part": "order_part_paid",
    "paid": "order_paid",
    "held": "payment_held",
    "abandoned": "order_abandoned",
}


def facts_of(rows: Rows, record: Record) -> Facts:
    ids = {url: checkout_id for checkout_id, url in record.urls.items()}
    return Facts(
        rows=rows,
        arrived={name for name, line in record.deposits.items() if line["status"] == "completed"},
        said={line["id"] for line in record.lines("read") if line["status"] == "completed"},
        given_out=[{"url": url, "checkout_id": ids[url]} for url in record.given_out],
        closed={row["order_id"] for name in ("order_paid", "request_paid") for row in _stocked(rows, name)},
        disbursements=[asdict(payout) for payout in record.paid],
        written=rows["fulfilment"],
        told=[{name: value for name, value in line.items() if name != "what"} for line in record.lines("told")],
        listeners=lambda name: {"stock", OUTSIDE, "books"},
    )


def complaints(rows: Rows, record: Record) -> list[str]:
    return [
        *map(str, broken(facts_of(rows, record), *ALWAYS)),
        *_events(rows),
        *_hints(rows, record),
        *_excess(rows),
        *_requests(rows),
        *_reminders(rows),
        *_owed(rows, record),
        *_booked(rows),
    ]


def complaints_at_rest(rows: Rows, record: Record, ends: dict[str, str]) -> list[str]:
    """Promises that reconcile has not kept although it had the time."""
    return [
        *complaints(rows, record),
        *map(str, broken(facts_of(rows, record), *AT_REST)),
        *_stuck(rows),
        *_payouts_at_rest(rows, record),
        *_other_ends(rows, ends),
    ]


def money_without_an_order(rows: Rows, record: Record) -> list[str]:
    return list(no_payment_is_lost(facts_of(rows, record)))


def _stocked(rows: Rows, name: str) -> list[Row]:
    """The rows that the atomic receiver wrote."""
    return [row for row in rows["fulfilment"] if (row["receiver"], row["name"]) == ("stock", name)]


def _events(rows: Rows) -> Iterator[str]:
    """No order here has two checkouts that expire, so every move has an event and a revision."""
    moved: Counter[tuple[str, str]] = Counter()
    for row in rows["paycheckout_checkout"]:
        names = ["checkout_created", *(_SIGNAL[state] for state in moves(row))] + ["payment_resolved"] * _is_decided(
            row
        )
        if row["order_id"].startswith("request:"):
            # A request has its own signals, and these moves send only one of them.
            names = ["request_paid"] * names.count("order_paid")
        moved.update((row["checkout_id"], name) for name in names)
        # Refunds raise it, too, and so does storing that money arrived if the move fails.
        refunds = sum(payout["refund_of"] == row["checkout_id"] for payout in rows["paycheckout_payout"])
        if not 0 <= row["revision"] - len(moves(row)) <= 1 + 2 * refunds:
            yield f"{row['checkout_id']} is at revision {row['revision']} after the moves {moves(row)}"
    of_checkouts = [row for row in rows["paycheckout_event"] if row["payout_reference"] is None]
    stored = Counter((row["checkout_id"], row["name"]) for row in of_checkouts if row["name"] not in _REMINDERS)
    if moved != stored:
        yield f"moves without their event: {dict(moved - stored)}; events without their move: {dict(stored - moved)}"


def _is_decided(checkout: Row) -> bool:
    return any(line["what"] == "resolved" for line in lines(checkout))


def _excess(rows: Rows) -> Iterator[str]:
    """Excess money is refunded in the same commit in which a person accepts the payment."""
    for row in filter(_is_decided, rows["paycheckout_checkout"]):
        refunds = [one["counts"] for one in rows["paycheckout_payout"] if one["refund_of"] == row["checkout_id"]]
        if (refunds, row["refunded_amount"]) != (["0.50"], "0.50"):
            yield f"{row['checkout_id']} was accepted with the refunds {refunds} and {row['refunded_amount']} refunded"


def _requests(rows: Rows) -> Iterator[str]:
    """A request and its withdrawal are each committed together with their deed."""
    deeds = Counter((row["deed"], row["subject"]) for row in rows["paycheckout_deed"])
    requests = rows["paycheckout_request"]
    expected = Counter(("requested", row["reference"]) for row in requests)
    expected.update(("withdrawn", row["reference"]) for row in requests if row["withdrawn_at"])
    if expected != Counter({deed: count for deed, count in deeds.items() if deed[0] in ("requested", "withdrawn")}):
        yield f"requests {dict(expected)}, deeds {dict(deeds)}"


def _reminders(rows: Rows) -> Iterator[str]:
    """An order has no further reminder exactly if its only reminder is stored."""
    reminded = Counter(row["order_id"] for row in rows["paycheckout_event"] if row["name"] in _REMINDERS)
    first = {row["order_id"]: row["remind_at"] for row in reversed(rows["paycheckout_checkout"])}
    waiting = first | {f"request:{row['reference']}": row["remind_at"] for row in rows["paycheckout_request"]}
    for order_id, at in waiting.items():
        if reminded[order_id] != (at is None):
            yield f"{order_id} is to be reminded at {at} and has {reminded[order_id]} reminders"


def _hints(rows: Rows, record: Record) -> Iterator[str]:
    """A webhook is answered 200 if it is counted, or if no read could change anything; else 503."""
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


def _owed(rows: Rows, record: Record) -> Iterator[str]:
    """A payout is stored exactly if the shop's own row of the same transaction is; no payee gets more than is owed."""
    owed = Counter((row["payee"], row["amount"], row["currency"]) for row in rows["owed"])
    # Only the end of an account number is stored in plain text.
    payees = {row["payee"][-4:]: row["payee"] for row in rows["owed"] if row["payee"].isdigit()}
    stored: Counter[tuple[str, str, str]] = Counter()
    # A payout without a destination has no payee yet.
    for row in [row for row in rows["paycheckout_payout"] if row["destination"] is not None]:
        payee = row["destination"].rpartition(" ")[2]
        stored[payees.get(payee, payee), row["amount"], row["currency"]] += 1
    if owed != stored:
        yield f"owed without a payout: {dict(owed - stored)}; payouts that nobody asked for: {dict(stored - owed)}"
    paid = Counter(
        (payout.to, f"{payout.amount:.2f}", payout.currency) for payout in record.paid if payout.status != "failed"
    )
    if paid - owed:
        yield f"paid, and not owed: {dict(paid - owed)}"
    completed = Counter(row["event_id"] for row in rows["paycheckout_event"] if row["name"] == "payout_completed")
    booked = Counter(row["event_id"] for row in _stocked(rows, "payout_completed"))
    if completed != booked:
        yield f"completed payouts {dict(completed)}; those that the shop booked {dict(booked)}"


def _booked(rows: Rows) -> Iterator[str]:
    """Each movement of money is in the books once, stored together with the payout's move."""
    moved: Counter[tuple[str, str, str]] = Counter()
    for row in rows["paycheckout_payout"]:
        for before, after in pairwise(["ready", *moves(row)]):
            if after == "sent" or (before, after) == ("sent", "failed"):
                kind = row["kind"] + ("" if after == "sent" else "_returned")
                moved[row["reference"], kind, row["amount"]] += 1
    bookings = [row for row in rows["paycheckout_booking"] if row["reference"]]
    booked = Counter((row["reference"], row["kind"], row["gross"].removeprefix("-")) for row in bookings)
    if moved != booked:
        yield f"moves that are not booked: {dict(moved - booked)}; bookings without a move: {dict(booked - moved)}"


def _stuck(rows: Rows) -> Iterator[str]:
    for row in rows["paycheckout_event"]:
        if row["next_attempt_at"] or row["lease_token"] or row["lease_until"]:
            yield f"{row['name']} of {row['order_id']} still waits, or is still held by somebody"
    paid = {row["paid_order_id"] for row in rows["paycheckout_checkout"]}
    for row in rows["paycheckout_checkout"]:
        watched = row["next_read_at"] is not None
        is_unpaid_part = row["status"] == "part" and row["order_id"] not in paid
        if watched != (is_unpaid_part or row["status"] in ("created", "pending", "abandoned")):
            yield f"{row['checkout_id']} is {row['status']}, next read at {row['next_read_at']}"


def _payouts_at_rest(rows: Rows, record: Record) -> Iterator[str]:
    """Each requested payout is paid, or a person sees why not."""
    ended = {payout.reference for payout in record.paid if payout.status == "completed" and payout.kind != WALLET}
    for row in [row for row in rows["paycheckout_payout"] if row["destination"] is not None]:
        expected = {"failed", "completed" if row["service_reference"] in ended else "sent"}
        if row["status"] not in expected or (row["status"] == "failed" and not row["problem"]):
            yield f"{row['reference']} is {row['status']}: {row['problem']}; expected {expected}"
        # The service may still pay a failed transfer, also an earlier one of the payout.
        is_known = row["disbursement_id"] is not None and row["doubt"] != "denied"
        may_be_paid = row["earlier"] is not None or (row["status"] == "failed" and is_known)
        if row["due_at"] is not None and not may_be_paid:
            yield f"{row['reference']} is {row['status']} and still waits for something"


def _other_ends(rows: Rows, ends: dict[str, str]) -> Iterator[str]:
    best = ("paid", "held", "pending", "part", "created", "abandoned")
    for order_id, expected in ends.items():
        states = {row["status"] for row in rows["paycheckout_checkout"] if row["order_id"] == order_id}
        status = next((state for state in best if state in states), "unpaid")
        if status != expected:
            yield f"order {order_id} is {status}, not {expected}"
