"""Comparison of the books with the checkouts and payouts that their lines are about; the service is not read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial, reduce
from typing import Any

from flask_paycheckout.books.audit.findings import Finding, Kind, Verdict
from flask_paycheckout.books.audit.reading import Reads
from flask_paycheckout.books.audit.rechecks import Recheck
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.books.ledger import (
    NUMBERS,
    LineKind,
    Values,
    about,
    arrival_lines,
    booked_kind,
    money_out,
    payout_line,
)
from flask_paycheckout.clock import as_utc
from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.payouts.payout_states import RELEASING
from flask_paycheckout.totals import EXACT

# The maximum difference between the clocks of a shop's hosts; a larger one means that a line's time was changed.
_CLOCKS = timedelta(hours=1)
_REMEDY = (
    "Somebody has changed the books, or what they tell of, past the extension. Compare both with a backup, and with"
    " what the service says."
)
_AGREEING = ("subject", "order_id", "checkout_id", "account", "currency", "received_currency")


def compare_books(rows: AuditRows, reads: Reads) -> Callable[[Sequence[Row]], Collection[Finding]]:
    """A function that compares the books with the checkouts and payouts of some rows, which may be lines."""
    checkouts, payouts = (Recheck(reads, partial(_judge, rows, is_payout)) for is_payout in (False, True))

    def compare(page: Sequence[Row]) -> Collection[Finding]:
        about = [_subjects(row) for row in page]
        return [
            *checkouts.certain({checkout for checkout, _ in about} - {None}),
            *payouts.certain({payout for _, payout in about} - {None}),
        ]

    return compare


def _subjects(row: Row) -> tuple[str | None, str | None]:
    """The id of the checkout and the reference of the payout that a row is about."""
    if "refund_of" in row:
        return row["refund_of"], row["reference"]
    if "subject" in row:
        return (None, row["reference"]) if row["reference"] else (row["subject"], None)
    return row["checkout_id"], None


def _judge(rows: AuditRows, is_payout: bool, names: Collection[str]) -> dict[str, Finding]:
    """The findings about checkouts or payouts that differ from their lines.

    :param names: the ids of checkouts, or the references of payouts.
    """
    models, findings = rows.models, dict[str, Finding]()
    if is_payout:
        stored, booked = rows.by(models.payouts, "reference", names), rows.by(models.bookings, "reference", names)
    else:
        stored, booked = rows.by(models.checkouts, "checkout_id", names), rows.by(models.bookings, "subject", names)
    refunds = rows.by(models.payouts, "refund_of", names)
    for name in names:
        row, lines, expected = next(iter(stored[name]), None), booked[name], list[Row]()
        try:
            expected = [] if row is None else _expected(row)
            if row is None:
                agrees = not lines
            elif is_payout:
                agrees = _bear_out_payout(row, lines, expected)
            else:
                agrees = _bear_out_checkout(row, lines, expected) and _is_counted(row, refunds[name])
        except (ValueError, ArithmeticError):
            # Another program has stored an unreadable amount or kind.
            agrees = False
        if not agrees:
            findings[name] = _finding(row, lines, expected)
        elif is_payout and row is not None and not rows.is_of_its_account(row):
            findings[name] = _other_account(row)
    return findings


def _expected(row: Row) -> list[Row]:
    """The lines that a checkout or payout should have, without the lines that were taken back."""
    lines: Iterable[Values]
    if "refund_of" in row:
        out = money_out(row)
        lines = [] if out is None else [payout_line(out, row, PayoutFees.ON_TOP)]
    else:
        arrived = booked_kind(row)
        lines = [] if arrived is None else arrival_lines(arrived, row)
    return [about(row) | line for line in lines]


def _bear_out_checkout(row: Row, lines: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Whether the lines of a checkout add up to the lines that it should have."""
    if any(line["kind"] == LineKind.PAYMENT_RETURNED for line in lines):
        # A returned line takes back neither the fee nor the time of the first arrival. It also takes back held money.
        here, there = (
            _sums([{**line, "kind": LineKind.HELD} for line in side if line["kind"] != LineKind.FEE], ("gross",))
            for side in (expected, lines)
        )
        return here == there
    # The clocks of hosts differ, so a later change may have an earlier time. The last part of an order may have changed
    # its state once more without moving money.
    return _sums(expected) == _sums(lines) and all(
        line["booked_at"] == row["payment_completed_at" if line["change"] == lines[0]["change"] else "moved_at"]
        or (row["excess"] is not None and line["booked_at"] <= row["moved_at"])
        for line in lines
    )


def _is_counted(checkout: Row, refunds: Sequence[Row]) -> bool:
    """Whether a checkout's `refunded_amount` is the sum of its refunds, in the currency of the payment."""
    live = [refund for refund in refunds if refund["status"] not in RELEASING]
    counted = reduce(EXACT.add, (Decimal(refund["counts"]) for refund in live), Decimal(0))
    paid_in = {refund["counts_currency"] for refund in live} <= {checkout["payment_paid_currency"]}
    return paid_in and counted == Decimal(checkout["refunded_amount"] or 0)


def _bear_out_payout(row: Row, lines: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Whether the lines of a payout add up to the line that it should have."""
    counted_in = None if row["counts_currency"] == row["currency"] else row["counts_currency"]
    own = {"kind": row["kind"], "received_currency": counted_in}
    with_fees = [{**line, **own} if line["kind"] == LineKind.FEE else line for line in lines]
    # The net amount depends on PAYCHECKOUT_PAYOUT_FEES at the time when a line was booked, so it is checked separately.
    here, there = (_sums(side, ("gross", "fee", "received")) for side in (expected, with_fees))
    return here == there and all(
        _is_net(line) and row["created_at"] - _CLOCKS <= line["booked_at"] <= row["moved_at"] + _CLOCKS
        for line in lines
    )


def _is_net(line: Row) -> bool:
    gross, fee, net = (Decimal(line[name] or 0) for name in NUMBERS[:3])
    return net in (gross, EXACT.subtract(gross, fee))


def _sums(lines: Sequence[Row], numbers: Sequence[str] = NUMBERS) -> dict[tuple[Any, ...], list[Decimal]]:
    """The sums of some numbers by kind and by the columns that must agree, less money that came back."""
    sums: dict[tuple[Any, ...], list[Decimal]] = {}
    for line in lines:
        key = LineKind(line["kind"]).base, *(line[name] for name in _AGREEING)
        before = sums.get(key, [Decimal(0)] * len(numbers))
        sums[key] = [EXACT.add(total, Decimal(line[name] or 0)) for total, name in zip(before, numbers, strict=True)]
    return {key: totals for key, totals in sums.items() if totals[0] or key[0] is LineKind.FEE}


def _text(lines: Sequence[Row]) -> str | None:
    """Lines for people."""
    texts = []
    for line in lines:
        at = as_utc(line["booked_at"]).isoformat(timespec="seconds") if "booked_at" in line else None
        parts = (at, line["kind"], line["gross"], line["currency"], f"fee {line['fee']}", line["account"])
        texts.append(" ".join(str(part) for part in parts if part))
    return "; ".join(texts) or None


def _other_account(payout: Row) -> Finding:
    """Return the finding for a payout whose row and service reference name different merchant accounts."""
    return replace(
        _finding(payout, (), ()),
        here={"account": payout["account"]},
        there={"account": "another one, which its service reference was made for"},
        differences=("account",),
    )


def _finding(row: Row | None, lines: Sequence[Row], expected: Sequence[Row]) -> Finding:
    stored = lines[0] if row is None else about(row)
    return Finding(
        Verdict.MISSING_HERE if row is None else Verdict.DIFFERS,
        Kind.BOOKING,
        **{name: stored[name] for name in ("account", "order_id", "checkout_id", "reference", "disbursement_id")},
        here={"lines": _text(expected)},
        there={"lines": _text(lines)},
        differences=("lines",),
        remedy=_REMEDY,
    )
