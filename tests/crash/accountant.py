"""Compares the service's own books of payouts with what the shop committed; nothing of the extension is used.

The shop owes each payee one sum, so that a payee who is in the books twice was paid twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from tests.crash.databases import Rows
from tests.payouts.books import Paid

#: Every move that the contract's table has a row for, and no other.
LEGAL = frozenset(
    {
        ("ready", "sending"),
        ("sending", "sent"),
        ("sending", "ready"),
        ("sending", "failed"),
        ("sending", "unknown"),
        ("unknown", "sent"),
        ("unknown", "ready"),
        ("sent", "completed"),
        ("sent", "failed"),
        ("failed", "ready"),
    }
)
_TOLD = {f"payout_{state}": state for state in ("sent", "completed", "failed", "unknown")}


def complaints(rows: Rows, books: Iterable[Paid]) -> list[str]:
    """What must hold at every moment, also right after a death."""
    together = (*_committed_together(rows), *_moves(rows), *_one_commit(rows), *_booked(rows))
    return [*_not_doubled(rows, books), *together]


def complaints_at_rest(rows: Rows, books: Iterable[Paid]) -> Iterator[str]:
    """What was asked for is paid, or a person sees why not."""
    paid = {one.to: one for one in books if one.status != "failed"}
    for payee, row in _payees(rows).items():
        one, status = paid.get(payee), row["status"]
        if status not in ("sent", "completed", "failed"):
            yield f"the payout to {payee} is still {status}: {row['problem']}"
        if (status == "failed") != (one is None):
            yield f"the payout to {payee} is {status}, the service's books say {one}"
        if one is not None and status != ("completed" if one.status == "completed" else "sent"):
            yield f"the payout to {payee} is {status}, but {one.status} at the service"
        if status == "failed" and not row["problem"]:
            yield f"nobody is told why the payout to {payee} failed"
        if row["next_attempt_at"] is not None or row["lease_token"] is not None:
            yield f"the payout to {payee} is {status} and still waits for something, or is held by somebody"


def _addressed(rows: Rows) -> list[dict[str, Any]]:
    """The payouts of which somebody has said where they go."""
    return [row for row in rows[_TABLE] if row["destination"] is not None]


def _payees(rows: Rows) -> dict[str, dict[str, object]]:
    """The payouts by whom they go to."""
    found = {row["destination"].removeprefix("recipient ").removeprefix("wallet "): row for row in _addressed(rows)}
    # Of an account number only the end is stored in the clear.
    owed = {row["payee"][-4:]: row["payee"] for row in rows["owed"] if row["payee"].isdigit()}
    return {owed.get(payee[-4:], payee) if "•" in payee else payee: row for payee, row in found.items()}


def _not_doubled(rows: Rows, books: Iterable[Paid]) -> Iterator[str]:
    owed = {row["payee"]: (Decimal(row["amount"]), row["currency"]) for row in rows["owed"]}
    paid = [one for one in books if one.status != "failed"]
    for payee, count in Counter(one.to for one in paid).items():
        if count > 1:
            yield f"{payee} was paid {count} times"
    for one in paid:
        if (one.amount, one.currency) != owed.get(one.to):
            yield f"{one.to} was paid {one.amount} {one.currency}, owed were {owed.get(one.to)}"


def _committed_together(rows: Rows) -> Iterator[str]:
    """A payout is stored exactly if the shop's own row of the same transaction is."""
    owed = Counter((row["payee"], row["amount"], row["currency"]) for row in rows["owed"])
    stored = Counter((payee, row["amount"], row["currency"]) for payee, row in _payees(rows).items())
    if owed != stored:
        yield f"owed without a payout: {dict(owed - stored)}; payouts that nobody asked for: {dict(stored - owed)}"
    if len(_payees(rows)) != len(_addressed(rows)):
        yield "a payee has two payouts"


def _moves(rows: Rows) -> Iterator[str]:
    """Each move is one that the table of states has, and stored with its event."""
    moved: Counter[tuple[str, str]] = Counter()
    for row in _addressed(rows):
        moves = [entry["to"] for entry in map(json.loads, row["history"].splitlines()) if "to" in entry]
        moved.update((row["reference"], state) for state in moves if state in _TOLD.values())
        for move in zip(["ready", *moves], moves, strict=False):
            if move not in LEGAL:
                yield f"{row['reference']} went from {move[0]} to {move[1]}"
        if ["ready", *moves][-1] != row["status"]:
            yield f"{row['reference']} is {row['status']}, its story says {moves}"
    told = Counter(
        (row["payout_reference"], _TOLD[row["name"]]) for row in rows["paycheckout_event"] if row["payout_reference"]
    )
    if moved != told:
        yield f"moves without their event: {dict(moved - told)}; events without their move: {dict(told - moved)}"


def _one_commit(rows: Rows) -> Iterator[str]:
    """What the atomic receiver wrote is never seen apart from the completion."""
    completed = {row["event_id"] for row in rows["paycheckout_event"] if row["name"] == "payout_completed"}
    written = Counter(
        row["event_id"] for row in rows["fulfilment"] if (row["receiver"], row["name"]) == ("stock", "payout_completed")
    )
    if written != Counter(completed):
        yield f"completed payouts {sorted(completed)}; those that the shop booked {dict(written)}"


def _booked(rows: Rows) -> Iterator[str]:
    """Each movement of money is in the books once, stored together with the payout's move."""
    moved: Counter[tuple[str, str, str]] = Counter()
    for row in rows[_TABLE]:
        moves = [entry["to"] for entry in map(json.loads, row["history"].splitlines()) if "to" in entry]
        for before, after in zip(["ready", *moves], moves, strict=False):
            if after == "sent" or (before, after) == ("sent", "failed"):
                kind = row["kind"] + ("" if after == "sent" else "_returned")
                moved[row["reference"], kind, row["amount"]] += 1
    lines = [row for row in rows["paycheckout_booking"] if row["reference"]]
    booked = Counter((row["reference"], row["kind"], row["gross"].removeprefix("-")) for row in lines)
    if moved != booked:
        yield f"moves that are not booked: {dict(moved - booked)}; bookings without a move: {dict(booked - moved)}"


_TABLE = "paycheckout_payout"
