"""The alarms of the report, each as a check of the doctor."""

from __future__ import annotations

from collections.abc import Iterator

from flask_paycheckout.doctor.checks import Check, failure, ok
from flask_paycheckout.reports.payout_alarms import PayoutAlarms, late_remedy, payout_text
from flask_paycheckout.reports.report import Alarms
from flask_paycheckout.reports.report_text import operation_text
from flask_paycheckout.rules.text import account_text, moment_text

__all__ = ["check_alarms"]


def check_alarms(alarms: Alarms) -> Iterator[Check]:
    """Give a failure for each alarm that needs a person, as `flask paycheckout report` exits with 1 for each."""
    yield from _reads(alarms)
    yield from _money(alarms)
    yield from _payouts(alarms.payouts)
    yield from _shop(alarms)


def _reads(alarms: Alarms) -> Iterator[Check]:
    backlog = alarms.backlog
    if backlog.overdue and backlog.since:
        yield failure(
            "reconcile",
            f"behind: {backlog.overdue} overdue, the longest since {moment_text(backlog.since)}",
            "Keep this running beside the shop: flask paycheckout reconcile --watch",
        )
    for group in alarms.unreadable:
        since = moment_text(group.since)
        yield failure(
            "reads",
            f"{group.count}{account_text(group.account)} could not be read or settled, the longest since {since}:"
            f" {group.problem}",
            "See service and credentials, above; for one order: flask paycheckout show ORDER_ID",
            group.account,
        )
    if not backlog.overdue and not alarms.unreadable:
        yield ok("reconcile", "no read is overdue, and none has failed for more than five minutes")
    for calls in alarms.failing:
        yield failure(
            "starts" if calls.operation == "start" else calls.operation,
            f"{operation_text(calls)} since {moment_text(calls.since)}: {calls.words}",
            "See service, credentials and configuration, above.",
            calls.account,
        )


def _money(alarms: Alarms) -> Iterator[Check]:
    if alarms.unsettled:
        first = alarms.unsettled[0]
        yield failure(
            "money",
            f"{len(alarms.unsettled)} completed at the service and neither paid nor held, the first {first.checkout_id}"
            f" of order {first.order_id}{account_text(first.account)} since {moment_text(first.since)}:"
            f" {first.problem}",
            "Repair the named cause; reconcile tries again.",
        )
    if alarms.held:
        yield failure("money", f"{alarms.held} held for a person's decision", "See: flask paycheckout report")
    if alarms.to_pay_back:
        yield failure(
            "money",
            f"{alarms.to_pay_back} to pay back or keep, until a person says which",
            "See: flask paycheckout report",
        )


def _payouts(alarms: PayoutAlarms) -> Iterator[Check]:
    troubles = (
        (
            alarms.waiting,
            "wait for a person's approval",
            "Approve or cancel: flask paycheckout payouts --status waiting",
        ),
        (
            alarms.unclaimed,
            "wait for the customer for more than a week",
            "Send the customer the link again, or cancel: flask paycheckout payouts --status claimable",
        ),
        (alarms.unsent, "are ready and not sent", late_remedy(alarms)),
        (
            alarms.under_way,
            "are without news",
            "Run flask paycheckout reconcile --watch; if it runs, look for the reference in the service's dashboard.",
        ),
        (
            alarms.unknown,
            "are unknown: nobody here can know whether they were sent",
            "Look in the service's dashboard or on the chain; then: flask paycheckout payouts resolve REFERENCE",
        ),
        (alarms.failed, "failed", "Try again: flask paycheckout payouts retry REFERENCE"),
    )
    for listed, trouble, remedy in troubles:
        if listed:
            yield failure("payouts", f"{len(listed)} {trouble}, the first {payout_text(listed[0])}", remedy)


def _shop(alarms: Alarms) -> Iterator[Check]:
    if alarms.stuck:
        first = alarms.stuck[0]
        error = f": {first.last_error}" if first.last_error else ""
        yield failure(
            "events",
            f"{len(alarms.stuck)} not delivered to every receiver, the first {first.name} of {first.subject},"
            f" tried {first.attempts} times{error}",
            "Connect or repair the receiver; then: flask paycheckout deliver --now",
        )
    if alarms.webhooks_silent:
        yield failure(
            "webhooks",
            "there was none for the orders that were paid last; the payments were found without, but later",
            "Register the webhook URL below in the service's dashboard, and let its POST requests through to the shop.",
        )
