"""The accountant: compares what the shop committed, and exports, with the service's own books, to the cent."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any

Row = dict[str, Any]
Violations = Iterator[str]
Sums = dict[tuple[str, str], Decimal]

# Written down here a second time, from what the documentation says about the states.
_PAID_OUT = {"sent", "completed"}
# An unknown one waits for a person.
_ENDED = {"sent", "completed", "failed", "cancelled", "claimable", "waiting", "unknown"}


class Books:
    """What both sides wrote down about money."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.exported: list[Row] = record["export"]
        self.alarms: list[Row] = record["alarms"]
        self.payouts: list[Row] = record["payouts"]
        self.disbursements: list[Row] = record["service_disbursements"]
        self.checkouts: dict[str, Row] = {row["checkout_id"]: row for row in record["checkouts"]}
        self.deposits: dict[str, Row] = {row["id"]: row for row in record["service_deposits"]}

    @cached_property
    def payout_of(self) -> dict[str, Row]:
        """Each payout by every reference that the service was ever given for it."""
        return {reference: payout for payout in self.payouts for reference in _references(payout)}

    @cached_property
    def made_for(self) -> dict[str, list[Row]]:
        """The disbursements of each payout."""
        grouped = defaultdict(list)
        for made in self.disbursements:
            if made["reference"] in self.payout_of:
                grouped[self.payout_of[made["reference"]]["reference"]].append(made)
        return grouped

    @cached_property
    def sums_exported(self) -> Sums:
        """The sums of the export, by what they are of and the currency."""
        sums: Sums = defaultdict(Decimal)
        for line in self.exported:
            if line["kind"] in {"payment", "held", "payment_returned"}:
                sums["paid", line["currency"]] += Decimal(line["gross"])
                sums["received", line["received_currency"]] += Decimal(line["received"])
            if line["reference"]:
                # Fees of money out are compared one by one: a disbursement that fails keeps its fee.
                sums["out", line["currency"]] -= Decimal(line["gross"])
                sums["net", line["currency"]] += Decimal(line["gross"])
            else:
                sums["fees", line["currency"]] += Decimal(line["fee"])
                sums["net", line["currency"]] += Decimal(line["net"])
        return _without_zeros(sums)

    @cached_property
    def sums_at_service(self) -> Sums:
        """The same sums of the service's completed deposits, and of disbursements that did not fail.

        The shop never heard of a checkout whose answer was lost, and no customer can: only the sandbox pays those.
        """
        sums: Sums = defaultdict(Decimal)
        for deposit in self.deposits.values():
            if deposit["status"] == "completed" and deposit["id"] in self.checkouts:
                paid, fee = Decimal(deposit["input_amount"]), Decimal(deposit["fee_amount"])
                sums["paid", deposit["input_currency"]] += paid
                sums["fees", deposit["input_currency"]] += fee
                sums["net", deposit["input_currency"]] += paid - fee
                sums["received", deposit["output_currency"]] += Decimal(deposit["output_amount"])
        for made in self.disbursements:
            if made["status"] != "failed":
                sums["out", made["currency"]] += Decimal(made["amount"])
                sums["net", made["currency"]] -= Decimal(made["amount"])
        return _without_zeros(sums)


def _without_zeros(sums: Sums) -> Sums:
    return {key: amount for key, amount in sums.items() if amount}


def _references(payout: Row) -> set[str]:
    lines = [json.loads(line) for line in payout["history"].splitlines()]
    return {payout["service_reference"], *(line["replaced"] for line in lines if "replaced" in line)}


def each_paid_order_pays_its_maker_once(books: Books) -> Violations:
    """The maker's payout exists exactly where an order was paid, since both were committed together."""
    paid = {f"maker-{row['order_id']}" for row in books.checkouts.values() if row["paid_order_id"]}
    stored = [row["reference"] for row in books.payouts if row["kind"] == "payout"]
    if sorted(paid) != sorted(stored):
        yield f"paid and without a payout: {sorted(paid - {*stored})}, payouts of others: {sorted({*stored} - paid)}"


def nothing_is_paid_out_twice_or_made_up(books: Books) -> Violations:
    """Of all that the service was asked to pay, at most one did not fail for each payout; each belongs to one."""
    for made in books.disbursements:
        if made["reference"] not in books.payout_of:
            yield f"{made['id']} of {made['amount']} {made['currency']} belongs to no payout: {made['reference']}"
    for reference, disbursements in books.made_for.items():
        alive = [made for made in disbursements if made["status"] != "failed"]
        if len(alive) > 1:
            yield f"{reference} was paid out {len(alive)} times: {[made['id'] for made in alive]}"


def both_books_are_equal(books: Books) -> Violations:
    """What the shop believes to be paid out is with the service, with its amount; and the reverse."""
    for payout in books.payouts:
        alive = [made for made in books.made_for.get(payout["reference"], []) if made["status"] != "failed"]
        believed = [(Decimal(payout["amount"]), payout["currency"])] if payout["status"] in _PAID_OUT else []
        known = [(Decimal(made["amount"]), made["currency"]) for made in alive]
        if believed != known:
            yield f"{payout['reference']} is {payout['status']}, {believed}; the service has {known}"


def refunds_are_never_more_than_what_arrived(books: Books) -> Violations:
    """The refunds of a checkout that count are its sum, and not more than the deposit."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for refund in books.payouts:
        if refund["refund_of"] and refund["status"] not in {"cancelled", "failed"}:
            sums[refund["refund_of"]] += Decimal(refund["counts"])
    for checkout_id, checkout in books.checkouts.items():
        stored, counted = Decimal(checkout["refunded_amount"] or 0), sums.get(checkout_id, Decimal(0))
        arrived = Decimal(books.deposits[checkout_id]["input_amount"]) if counted else counted
        if stored != counted or counted > arrived:
            yield f"{checkout_id}: {arrived} arrived, refunds of {counted}, its row says {stored}"


def a_refunded_payment_is_never_held(books: Books) -> Violations:
    """The first refund of a held payment rejects it."""
    for refund in books.payouts:
        if refund["refund_of"] and books.checkouts[refund["refund_of"]]["status"] == "held":
            yield f"{refund['refund_of']} is held, and has the refund {refund['reference']}"


def no_payout_waits_for_a_process(books: Books) -> Violations:
    """At rest every payout has ended, or waits for a person."""
    for payout in books.payouts:
        if payout["status"] not in _ENDED:
            yield f"{payout['reference']} is {payout['status']}, next at {payout['next_attempt_at']}"


def each_payout_in_doubt_is_named(books: Books) -> Violations:
    """A payout that is unknown at the end is lost to nobody: the report names it for a person to decide."""
    unknown = [payout["reference"] for payout in books.payouts if payout["status"] == "unknown"]
    told = sum(alarm["count"] for alarm in books.alarms if alarm["kind"] == "unknown-payouts")
    if told != len(unknown):
        yield f"{told} payouts are reported as unknown, and these are: {unknown}"


def the_export_equals_the_services_books(books: Books) -> Violations:
    """Paid, fees, received, paid out and net: the sums of each currency are the service's, to the last digit."""
    exported, known = books.sums_exported, books.sums_at_service
    for what, currency in sorted(exported.keys() | known.keys()):
        here, there = exported.get((what, currency), 0), known.get((what, currency), 0)
        if here != there:
            yield f"{what} in {currency}: {here} exported, the service's books have {there}"


def each_disbursement_has_the_services_fee(books: Books) -> Violations:
    """What the lines of a disbursement say of its fee is together what the service took."""
    taken = {made["id"]: Decimal(made["fee_amount"]) for made in books.disbursements}
    booked: dict[str, Decimal] = defaultdict(Decimal)
    for line in books.exported:
        if line["reference"] and line["disbursement_id"]:
            booked[line["disbursement_id"]] += Decimal(line["fee"])
    for made, fee in booked.items():
        if fee != taken[made]:
            yield f"the fee of {made} is {fee} in the export, the service took {taken[made]}"


def each_movement_is_exported_once_and_in_order(books: Books) -> Violations:
    """No payment twice, no service's id sent or returned twice, and no line before an earlier one."""
    movements = Counter(
        (line["kind"], line["disbursement_id"] if line["reference"] else line["checkout_id"])
        for line in books.exported
        if line["kind"] != "held"
    )
    for (kind, subject), times in movements.items():
        # The answer about a token may have been lost with its id.
        if times > 1 and subject is not None:
            yield f"{kind} of {subject} is exported {times} times"
    times_booked = [line["booked_at"] for line in books.exported]
    if times_booked != sorted(times_booked):
        yield "the export is not in the order of time"


BOOKS_PROMISES: tuple[Callable[[Books], Violations], ...] = (
    each_paid_order_pays_its_maker_once,
    nothing_is_paid_out_twice_or_made_up,
    both_books_are_equal,
    refunds_are_never_more_than_what_arrived,
    a_refunded_payment_is_never_held,
    no_payout_waits_for_a_process,
    each_payout_in_doubt_is_named,
    the_export_equals_the_services_books,
    each_disbursement_has_the_services_fee,
    each_movement_is_exported_once_and_in_order,
)
