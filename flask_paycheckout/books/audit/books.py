"""Comparison of the books with the checkouts and payouts that their lines tell of; the service is not read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any

from flask_paycheckout.books.audit.findings import Finding, Kind, Verdict
from flask_paycheckout.books.audit.rows import AuditRows, Row
from flask_paycheckout.books.ledger import LineKind, arrival_lines, booked_kind, money_out, payout_line
from flask_paycheckout.checkouts.payments import EXACT
from flask_paycheckout.clock import as_utc
from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.payouts.payout_states import RELEASING

# How far the clocks of two hosts of a shop may differ, before a line counts as moved to another time.
_CLOCKS = timedelta(hours=1)
_REMEDY = (
    "Somebody has changed the books, or what they tell of, past the extension. Compare both with a backup, and with"
    " what the service says."
)
_NUMBERS = ("gross", "fee", "net", "received")

Line = Mapping[Any, Any]
Subject = tuple[bool, str]
"""Whether it is a payout, and its checkout id or reference."""


def books_findings(rows: AuditRows, require_going_on: Callable[[], object]) -> Iterator[Sequence[Finding]]:
    """Findings about checkouts and payouts that the books contradict, and about lines that nothing bears out.

    :param require_going_on: called before each page; its error ends the walk.
    """
    named: set[Subject] = set()
    for subjects in _subjects(rows):
        require_going_on()
        doubtful = _judge(rows, subjects - named)
        # A running shop may have moved one between the reads of its row and of its lines.
        again = _judge(rows, doubtful.keys())
        found = {subject: finding for subject, finding in again.items() if doubtful[subject] == finding}
        named |= found.keys()
        yield list(found.values())


def _subjects(rows: AuditRows) -> Iterator[set[Subject]]:
    for page in rows.pages(rows.paid()):
        yield {(False, row["checkout_id"]) for row in page}
    for page in rows.pages(rows.paid_out()):
        yield {(True, row["reference"]) for row in page} | {(False, row["refund_of"]) for row in page} - {(False, None)}
    for page in rows.pages(rows.lines()):
        yield {(row["reference"] is not None, row["reference"] or row["subject"]) for row in page}


def _judge(rows: AuditRows, subjects: Collection[Subject]) -> dict[Subject, Finding]:
    """The findings about subjects that do not agree."""
    found: dict[Subject, Finding] = {}
    for is_payout in (False, True):
        names = [name for of_payout, name in subjects if of_payout is is_payout]
        stored, lines, others = rows.with_lines(names, payouts=is_payout)
        for name in names:
            row, booked, more = stored.get(name), lines.get(name, []), others.get(name, [])
            expected: list[Line] = []
            try:
                if row is None:
                    agrees = not booked
                elif is_payout:
                    expected, agrees = _judge_payout(row, booked, more)
                else:
                    expected, agrees = _judge_checkout(row, booked)
                    agrees = agrees and _is_counted(row, more)
            except (ValueError, ArithmeticError):
                # Another program has stored an amount or a kind that cannot be read.
                agrees = False
            if not agrees:
                found[is_payout, name] = _finding(is_payout, name, row, booked, expected)
    return found


def _judge_checkout(row: Row, lines: Sequence[Row]) -> tuple[list[Line], bool]:
    """The lines that a checkout should have at the end, and whether those that it has come to them."""
    kind = booked_kind(row)
    about = {name: row[name] for name in ("order_id", "checkout_id", "account")} | {"subject": row["checkout_id"]}
    expected: list[Line] = [] if kind is None else [about | line for line in arrival_lines(kind, row)]
    here, there = _sums(expected), _sums(lines)
    agrees = all(line[name] == about[name] for line in lines for name in about)
    if any(line["kind"] == LineKind.PAYMENT_RETURNED for line in lines):
        # The returned line brings back neither the fee nor the time of the first arrival.
        return expected, agrees and _without_fees(here) == _without_fees(there)
    # The clocks of hosts differ, so a later change may have an earlier time. The last part of an order may have moved
    # once more, which moves no money.
    in_time = all(
        line["booked_at"] == row["payment_completed_at" if line["change"] == lines[0]["change"] else "moved_at"]
        or (row["excess"] is not None and line["booked_at"] <= row["moved_at"])
        for line in lines
    )
    return expected, agrees and here == there and in_time


def _is_counted(checkout: Row, refunds: Sequence[Row]) -> bool:
    """Whether the sum that a checkout keeps of its refunds is what they count, in the currency that was paid."""
    live = [refund for refund in refunds if refund["status"] not in RELEASING]
    counted = reduce(EXACT.add, (Decimal(refund["counts"]) for refund in live), Decimal(0))
    paid_in = {refund["counts_currency"] for refund in live} <= {checkout["payment_paid_currency"]}
    return paid_in and counted == Decimal(checkout["refunded_amount"] or 0)


def _judge_payout(row: Row, lines: Sequence[Row], events: Sequence[Row]) -> tuple[list[Line], bool]:
    """The line that a payout should have at the end, and whether those that it has come to it.

    :param events: of the payout, until they are pruned.
    """
    sent = {as_utc(event["occurred_at"]) for event in events if event["name"] == "payout_sent"}
    kind, present = money_out(row["kind"], row["status"]), row["service_reference"]
    about = {"order_id": row["order_id"], "checkout_id": row["refund_of"], "currency": row["currency"]}
    account = row["account"] if row.get("paid_by") is None else row["paid_by"]
    expected: list[Line] = []
    if kind is not None:
        expected = [{**payout_line(kind, row, PayoutFees.ON_TOP), "subject": present, "account": account}]
    own = LineKind(row["kind"])
    here, there = (_without_net(_sums(side, own, ("currency",))) for side in (expected, lines))
    counted_in = None if row["counts_currency"] == row["currency"] else row["counts_currency"]
    # A corrected amount is booked in one change with the line that takes the other one back, and nothing is sent.
    corrections = {line["change"] for line in lines if LineKind(line["kind"]).base != line["kind"]}
    agrees = here == there and all(
        all(line[name] == about[name] for name in about)
        and (line["account"] == account or line["subject"] != present)
        and _is_net(line)
        and line["received_currency"] == (None if line["kind"] == LineKind.FEE else counted_in)
        and _is_in_time(row, line, () if line["change"] in corrections else sent, is_last=line is lines[-1])
        for line in lines
    )
    return expected, agrees


def _is_net(line: Row) -> bool:
    gross, fee, net = (Decimal(line[name] or 0) for name in _NUMBERS[:3])
    # As PAYCHECKOUT_PAYOUT_FEES said when it was booked.
    return net in (gross, EXACT.subtract(gross, fee))


def _is_in_time(payout: Row, line: Row, sent: Collection[datetime], *, is_last: bool) -> bool:
    booked_at = as_utc(line["booked_at"])
    if line["kind"] == payout["kind"] and line["disbursement_id"] is not None and sent and booked_at not in sent:
        return False
    # An earlier line may be of an earlier try under this reference, whose time is not stored any more.
    is_present = is_last and line["subject"] == payout["service_reference"] and payout["taken_at"] is not None
    since = as_utc(payout["taken_at"] if is_present else payout["created_at"])
    return since - _CLOCKS <= booked_at <= as_utc(payout["moved_at"]) + _CLOCKS


def _sums(
    lines: Sequence[Line],
    fees_as: LineKind = LineKind.FEE,
    currencies: Sequence[str] = ("currency", "received_currency"),
) -> dict[tuple[Any, ...], list[Decimal]]:
    """The sums of the numbers by subject, kind and currencies, without those that came back.

    :param fees_as: the kind as which lines of fees count.
    """
    sums: dict[tuple[Any, ...], list[Decimal]] = {}
    for line in lines:
        kind = LineKind(line["kind"]).base
        key = line["subject"], fees_as if kind is LineKind.FEE else kind, *(line[name] for name in currencies)
        before = sums.get(key, [Decimal(0)] * len(_NUMBERS))
        sums[key] = [EXACT.add(one, Decimal(line[name] or 0)) for one, name in zip(before, _NUMBERS, strict=True)]
    return {key: numbers for key, numbers in sums.items() if numbers[0] or key[1] is LineKind.FEE}


def _without_net(sums: dict[tuple[Any, ...], list[Decimal]]) -> dict[tuple[Any, ...], list[Decimal]]:
    """The sums but for the net amount, which PAYCHECKOUT_PAYOUT_FEES changes."""
    return {key: [gross, fee, received] for key, (gross, fee, _, received) in sums.items()}


def _without_fees(sums: dict[tuple[Any, ...], list[Decimal]]) -> dict[tuple[Any, ...], Decimal]:
    return {key: numbers[0] for key, numbers in sums.items() if key[1] is not LineKind.FEE}


def _text(lines: Sequence[Line]) -> str | None:
    """Lines for people."""
    told = []
    for line in lines:
        at = as_utc(line["booked_at"]).isoformat(timespec="seconds") if "booked_at" in line else None
        parts = (at, line["kind"], line["gross"], line["currency"], f"fee {line['fee']}", line["account"])
        told.append(" ".join(str(part) for part in parts if part))
    return "; ".join(told) or None


def _finding(is_payout: bool, name: str, row: Row | None, lines: Sequence[Row], expected: Sequence[Line]) -> Finding:
    stored: Line = lines[0] if row is None else row
    return Finding(
        Verdict.MISSING_HERE if row is None else Verdict.DIFFERS,
        Kind.BOOKING,
        stored["account"],
        stored["order_id"],
        stored["refund_of"] if "refund_of" in stored else stored["checkout_id"],
        name if is_payout else None,
        stored["disbursement_id"] if is_payout else None,
        {"lines": _text(expected)},
        {"lines": _text(lines)},
        ("lines",),
        _REMEDY,
    )
