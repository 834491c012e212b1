"""The state of the shop in figures, for monitoring: counts by state and account, what waits, and what is alarming."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine, Table

from flask_paycheckout.reports.report import Alarms, read_alarms
from flask_paycheckout.rules.payout_states import PayoutStatus
from flask_paycheckout.rules.states import Status
from flask_paycheckout.store.account_names import stored_accounts
from flask_paycheckout.store.gauges import Oldest, count_by_state, oldest
from flask_paycheckout.store.models import Models

__all__ = ["Counts", "Gauges", "read_gauges"]

Counts = Mapping[tuple[str | None, str], int]
"""By account and state; None stands for all accounts that are not listed."""


@dataclass(frozen=True)
class Gauges:
    """The figures of one moment."""

    at: datetime
    checkouts: Counts
    payouts: Counts
    undelivered: int
    """The number of events that wait for delivery."""

    undelivered_seconds: float
    """The seconds since the oldest of them happened; 0 without any."""

    due_read_seconds: float
    """The seconds for which the longest waiting read has been due; 0 when none is due."""

    alarms: Mapping[str, int]
    """How many of each thing need a person, as `report` lists them; zeros included."""


def read_gauges(
    engine: Engine, models: Models, now: datetime, accounts: int | Sequence[str], *, token_missing: bool
) -> Gauges:
    """Read the figures from the stored rows.

    :param accounts: the merchant accounts that are listed, or how many of them.
    :param token_missing: whether no access token is configured.
    """
    with engine.connect() as connection:
        listed = stored_accounts(connection, models, accounts) if isinstance(accounts, int) else accounts
        checkouts = _counts(connection, models.checkouts, listed, [status.value for status in Status])
        payouts = _counts(connection, models.payouts, listed, [status.value for status in PayoutStatus])
        longest = oldest(connection, models)
    alarms = _counted(read_alarms(engine, models, now, token_missing=token_missing))
    return Gauges(now, checkouts, payouts, longest.undelivered, *_seconds(longest, now), alarms)


def _counts(connection: Connection, table: Table, accounts: Sequence[str], states: Sequence[str]) -> Counts:
    """The counts of a table, with a zero for each state that an account has no row in."""
    counted = count_by_state(connection, table, accounts)
    # The account of the settings has its zeros before its first row, so that alerts find it.
    named = {account for account, _ in counted} | {"", *accounts}
    zeros = {(account, state): 0 for account in sorted(named, key=str) for state in states}
    return zeros | counted


def _seconds(longest: Oldest, now: datetime) -> tuple[float, float]:
    return tuple(  # type: ignore[return-value]
        0.0 if since is None else max(0.0, (now - since).total_seconds())
        for since in (longest.undelivered_since, longest.due_read)
    )


def _counted(alarms: Alarms) -> dict[str, int]:
    payouts = alarms.payouts
    return {
        "held": alarms.held,
        "to_pay_back": alarms.to_pay_back,
        "stuck_events": len(alarms.stuck),
        "webhooks_silent": int(alarms.webhooks_silent),
        "overdue_reads": alarms.backlog.overdue,
        "unsettled": len(alarms.unsettled),
        "unreadable": sum(group.count for group in alarms.unreadable),
        "failing_calls": len(alarms.failing),
        "payouts_waiting": len(payouts.waiting),
        "payouts_unclaimed": len(payouts.unclaimed),
        "payouts_late": len(payouts.late),
        "payouts_unknown": len(payouts.unknown),
        "payouts_failed": len(payouts.failed),
    }
