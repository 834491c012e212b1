"""The audit: compares the shop's committed rows and its export with the service's own books, to the cent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal

from tests.promises import Violations
from tests.soak.record import Soaked

Sums = dict[tuple[str, str], Decimal]


def sums_exported(soaked: Soaked) -> Sums:
    """The sums of the export, by kind and currency."""
    sums: Sums = defaultdict(Decimal)
    for line in soaked.record["export"]:
        if line["kind"] in {"payment", "held", "payment_returned"}:
            sums["paid", line["currency"]] += Decimal(line["gross"])
            sums["received", line["received_currency"]] += Decimal(line["received"])
        if line["reference"]:
            # The fees of payouts are compared one by one, because a failed disbursement keeps its fee.
            sums["out", line["currency"]] -= Decimal(line["gross"])
            sums["net", line["currency"]] += Decimal(line["gross"])
        else:
            sums["fees", line["currency"]] += Decimal(line["fee"])
            sums["net", line["currency"]] += Decimal(line["net"])
    return sums


def sums_at_service(soaked: Soaked) -> Sums:
    """The sums of the service's completed deposits, and of disbursements that did not fail, as in the export.

    The shop does not know a checkout whose answer was lost, and no customer can pay it: only the sandbox itself can.
    """
    sums: Sums = defaultdict(Decimal)
    for checkout in soaked.facts.checkouts:
        if checkout["checkout_id"] in soaked.facts.arrived:
            deposit = soaked.deposits[checkout["checkout_id"]]
            paid, fee = Decimal(deposit["input_amount"]), Decimal(deposit["fee_amount"])
            sums["paid", deposit["input_currency"]] += paid
            sums["fees", deposit["input_currency"]] += fee
            sums["net", deposit["input_currency"]] += paid - fee
            sums["received", deposit["output_currency"]] += Decimal(deposit["output_amount"])
    for disbursement in soaked.facts.disbursements:
        if disbursement["status"] != "failed":
            sums["out", disbursement["currency"]] += Decimal(disbursement["amount"])
            sums["net", disbursement["currency"]] -= Decimal(disbursement["amount"])
    return sums


def each_paid_order_pays_its_maker_once(soaked: Soaked) -> Violations:
    """The maker's payout exists exactly where an order was paid, since both were committed together."""
    paid = {f"maker-{order_id}" for order_id in soaked.facts.paid}
    stored = [row["reference"] for row in soaked.facts.payouts if row["kind"] == "payout"]
    if sorted(paid) != sorted(stored):
        yield f"paid and without a payout: {sorted(paid - {*stored})}, payouts of others: {sorted({*stored} - paid)}"


def refunds_are_never_more_than_what_arrived(soaked: Soaked) -> Violations:
    """The valid refunds of a checkout add up to its refunded sum, at most the deposit; a held payment has none."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for refund in soaked.facts.payouts:
        if refund["refund_of"]:
            counts = refund["status"] not in {"cancelled", "failed"}
            sums[refund["refund_of"]] += Decimal(refund["counts"]) if counts else 0
    for checkout in soaked.facts.checkouts:
        key, stored = checkout["checkout_id"], Decimal(checkout["refunded_amount"] or 0)
        counted, arrived = (
            sums.get(key, Decimal(0)),
            Decimal(soaked.deposits[key]["input_amount"] if key in sums else 0),
        )
        if stored != counted or counted > arrived or (key in sums and checkout["status"] == "held"):
            yield f"{key} is {checkout['status']}: {arrived} arrived, refunds of {counted}, its row says {stored}"


def each_payout_in_doubt_is_named(soaked: Soaked) -> Violations:
    """The report names each payout that is unknown at the end, so that a person can decide it."""
    unknown = [payout["reference"] for payout in soaked.facts.payouts if payout["status"] == "unknown"]
    alarmed = sum(alarm["count"] for alarm in soaked.record["alarms"] if alarm["kind"] == "unknown-payouts")
    if alarmed != len(unknown):
        yield f"{alarmed} payouts are reported as unknown, and these are: {unknown}"


def the_export_equals_the_services_books(soaked: Soaked) -> Violations:
    """Paid, fees, received, paid out and net: the sums of each currency are the service's, to the last digit."""
    exported, at_service = sums_exported(soaked), sums_at_service(soaked)
    for what, currency in sorted(exported.keys() | at_service.keys()):
        here, there = exported.get((what, currency), 0), at_service.get((what, currency), 0)
        if here != there:
            yield f"{what} in {currency}: {here} exported, the service's books have {there}"


def each_disbursement_has_the_services_fee(soaked: Soaked) -> Violations:
    """The fees in the lines of a disbursement add up to the fee that the service took."""
    taken = {disbursement["id"]: Decimal(disbursement["fee_amount"]) for disbursement in soaked.facts.disbursements}
    booked: dict[str, Decimal] = defaultdict(Decimal)
    for line in soaked.record["export"]:
        if line["reference"] and line["disbursement_id"]:
            booked[line["disbursement_id"]] += Decimal(line["fee"])
    for disbursement, fee in booked.items():
        if fee != taken[disbursement]:
            yield f"the fee of {disbursement} is {fee} in the export, the service took {taken[disbursement]}"


def each_movement_is_exported_once_and_in_order(soaked: Soaked) -> Violations:
    """No payment and no disbursement is exported twice, and the lines are in order of time."""
    exported = soaked.record["export"]
    movements = Counter(
        (line["kind"], line["disbursement_id"] if line["reference"] else line["checkout_id"])
        for line in exported
        if line["kind"] != "held"
    )
    for (kind, subject), times in movements.items():
        # The answer with the id of a token transfer may have been lost.
        if times > 1 and subject is not None:
            yield f"{kind} of {subject} is exported {times} times"
    times_booked = [line["booked_at"] for line in exported]
    if times_booked != sorted(times_booked):
        yield "the export is not in the order of time"


BOOKS_PROMISES: tuple[Callable[[Soaked], Violations], ...] = (
    each_paid_order_pays_its_maker_once,
    refunds_are_never_more_than_what_arrived,
    each_payout_in_doubt_is_named,
    the_export_equals_the_services_books,
    each_disbursement_has_the_services_fee,
    each_movement_is_exported_once_and_in_order,
)
