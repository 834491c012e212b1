"""Whether payments go through, as it is stored: each alarm of the report as a check of the doctor."""

from __future__ import annotations

from collections.abc import Iterator

from flask_paycheckout.doctor.checks import Check, failure, ok
from flask_paycheckout.reports.report import Alarms, operation_text
from flask_paycheckout.rules.text import moment_text

__all__ = ["check_alarms"]


def check_alarms(alarms: Alarms) -> Iterator[Check]:
    """Every check; what needs a person is a failure, as it makes the report exit with 1."""
    yield from _reads(alarms)
    yield from _money(alarms)
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
        yield failure(
            "reads",
            f"{group.count} not read, or not settled, the longest since {moment_text(group.since)}: {group.problem}",
            "See service and credentials, above; and of one order: flask paycheckout show ORDER_ID",
        )
    if not backlog.overdue and not alarms.unreadable:
        yield ok("reconcile", "no read is overdue, and none fails for minutes")
    for calls in alarms.failing:
        yield failure(
            "starts" if calls.operation == "start" else calls.operation,
            f"{operation_text(calls)} since {moment_text(calls.since)}: {calls.words}",
            "See service, credentials and configuration, above.",
        )


def _money(alarms: Alarms) -> Iterator[Check]:
    if alarms.unsettled:
        first = alarms.unsettled[0]
        yield failure(
            "money",
            f"{len(alarms.unsettled)} completed at the service and neither paid nor held, the first {first.checkout_id}"
            f" of order {first.order_id} since {moment_text(first.since)}: {first.problem}",
            "Put right what it names; reconcile tries again.",
        )
    if alarms.held:
        yield failure("money", f"{alarms.held} held for a person's decision", "See: flask paycheckout report")
    if alarms.to_pay_back:
        yield failure(
            "money",
            f"{alarms.to_pay_back} to pay back or keep, until a person says which",
            "See: flask paycheckout report",
        )


def _shop(alarms: Alarms) -> Iterator[Check]:
    if alarms.stuck:
        first = alarms.stuck[0]
        error = f": {first.last_error}" if first.last_error else ""
        yield failure(
            "events",
            f"{len(alarms.stuck)} not told to every receiver, the first {first.name} of order {first.order_id},"
            f" tried {first.attempts} times{error}",
            "Connect the receiver, or put it right; then: flask paycheckout deliver --now",
        )
    if alarms.webhooks_silent:
        yield failure(
            "webhooks",
            "none told of the orders that were paid last; they were found all the same, only later",
            "Put the webhook URL below into the service's dashboard, and let its POSTs through to the shop.",
        )
