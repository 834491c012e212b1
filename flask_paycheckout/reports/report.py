"""The report on all payments of the shop: counts by state, and everything that needs a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from flask_paycheckout.reports.payout_alarms import PayoutAlarms, read_payout_alarms
from flask_paycheckout.rules.text import plain
from flask_paycheckout.service.record import START, FailingCalls, failing_calls
from flask_paycheckout.store.account_names import (
    LISTED_ACCOUNTS,
    AccountCounts,
    count_by_account,
    stored_accounts,
)
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.overview import (
    LISTED,
    PATIENCE,
    SILENT,
    Backlog,
    HeldPayment,
    Overview,
    UndeliveredEvent,
    UnheardPayment,
    Unreadable,
    UnsettledPayment,
)
from flask_paycheckout.store.paybacks import MoneyToPayBack, count_to_pay_back, list_to_pay_back
from flask_paycheckout.store.payout_overview import ListedPayout, PayoutOverview
from flask_paycheckout.store.troubles import takes_no_writes

__all__ = ["Alarms", "Report", "read_alarms", "report"]


@dataclass(frozen=True)
class Alarms:
    """The parts of a report that need a person, cheap enough for a page that is opened often."""

    held: int
    """The number of payments that wait for a decision."""

    to_pay_back: int
    """The number of payments that paid no order, and were not yet recorded as paid back or kept."""

    stuck: tuple[UndeliveredEvent, ...]
    """Events with a failed receiver, or undelivered for more than five minutes; 100 at most."""

    webhooks_silent: bool
    """Whether none of the last five paid orders (or of fewer, when there are fewer) had a webhook."""

    backlog: Backlog
    unsettled: tuple[UnsettledPayment, ...] = ()
    """Completed payments that could not be applied; 100 at most."""

    unreadable: tuple[Unreadable, ...] = ()
    """Checkouts that cannot be read or settled, by account and error, the oldest first; 10 of an account at most."""

    failing: tuple[FailingCalls, ...] = ()
    """Calls that the service has failed to answer, or has refused, for more than five minutes."""

    payouts: PayoutAlarms = field(default_factory=PayoutAlarms)
    """Payouts and refunds that need a person."""

    read_only: bool = False
    """Whether the database takes no changes, so that no payment can be recorded."""


@dataclass(frozen=True)
class Report:
    """The state of all payments at one moment.

    `held`, `to_pay_back`, `undelivered` and `unheard` list at most 100 entries each; the counts cover all.
    """

    at: datetime
    account: str | None
    """The merchant account that this report is limited to; None: it covers all."""

    accounts: tuple[AccountCounts, ...]
    """The counts of each account; empty for a shop that only uses the one of the settings. 1,000 at most."""

    more_accounts: bool
    """Whether there are more accounts than `accounts` has."""

    checkouts: dict[str, int]
    """The number of checkouts in each state, zeros included."""

    held: tuple[HeldPayment, ...]
    to_pay_back_count: int
    to_pay_back: tuple[MoneyToPayBack, ...]
    """Rejected payments, and accepted second ones, that were not yet recorded as paid back or kept."""

    undelivered_count: int
    undelivered: tuple[UndeliveredEvent, ...]
    """Events with a failed receiver first, then the oldest."""

    recently_paid: int
    """The number of paid checkouts that `unheard` looks at: the newest 1,000, paid more than five minutes ago."""

    unheard_count: int
    unheard: tuple[UnheardPayment, ...]
    webhooks_silent: bool
    """Whether none of the last five paid orders (or of fewer, when there are fewer) had a webhook."""

    backlog: Backlog
    unsettled: tuple[UnsettledPayment, ...]
    """Completed payments that could not be applied, oldest first; 100 at most."""

    unreadable: tuple[Unreadable, ...]
    """Checkouts that cannot be read or settled, by account and error, the oldest first; 10 of an account at most."""

    failing: tuple[FailingCalls, ...]
    """Calls that the service has failed to answer, or has refused, for more than five minutes."""

    webhook_url: str
    """The address to register in the service's dashboard."""

    payouts: dict[str, int]
    """The number of payouts and refunds in each state, zeros included."""

    claimable: tuple[ListedPayout, ...]
    """Refunds of which the customer has not said where they go, oldest first; 100 at most."""

    payout_alarms: PayoutAlarms
    """Payouts and refunds that need a person."""

    read_only: bool = False
    """Whether the database takes no changes, so that no payment can be recorded."""

    @property
    def stuck(self) -> tuple[UndeliveredEvent, ...]:
        """The listed events with a failed receiver, or undelivered for more than five minutes."""
        return _stuck(self.undelivered, self.at)

    @property
    def needs_a_person(self) -> bool:
        """Whether anything in this report does not resolve itself."""
        troubles = (self.held, self.to_pay_back, self.stuck, self.webhooks_silent, self.backlog.overdue)
        failing = self.unsettled or self.unreadable or self.failing or self.payout_alarms.any
        return any(troubles) or bool(failing or self.read_only)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        values: dict[str, Any] = plain(asdict(self))
        return values | {"needs_a_person": self.needs_a_person}


def report(
    engine: Engine,
    models: Models,
    now: datetime,
    webhook_url: str,
    *,
    account: str | None = None,
    token_missing: bool = False,
) -> Report:
    """Report on all payments and payouts, from the stored rows alone; the service is not called.

    :param account: only those of this merchant account.
    :param token_missing: whether no access token is configured.
    """
    calls = failing_calls(engine, models.services, account)
    with engine.connect() as connection:
        overview = Overview(connection, models, now, account)
        payouts = PayoutOverview(connection, models, now, account)
        names = stored_accounts(connection, models, LISTED_ACCOUNTS + 1) if account is None else [account]
        shown = names[:LISTED_ACCOUNTS] if account is not None or any(names) else []
        counts = count_by_account(connection, models, shown) if shown else ()
        # Counting reads an entry of an index for each row: once is enough where the listed accounts are all.
        is_whole = bool(shown) and len(names) <= LISTED_ACCOUNTS
        paid = overview.recently_paid()
        unheard = [payment for payment, webhooks in paid if not webhooks]
        return Report(
            at=now,
            account=account,
            accounts=counts,
            more_accounts=len(names) > LISTED_ACCOUNTS,
            checkouts=_together([each.checkouts for each in counts]) if is_whole else overview.count_by_status(),
            held=overview.held(),
            to_pay_back_count=count_to_pay_back(connection, models, account),
            to_pay_back=list_to_pay_back(connection, models, LISTED, account),
            undelivered_count=overview.count_undelivered(),
            undelivered=overview.undelivered(),
            recently_paid=len(paid),
            unheard_count=len(unheard),
            unheard=tuple(unheard[:LISTED]),
            webhooks_silent=_silent(paid),
            backlog=overview.backlog(),
            unsettled=overview.unsettled(),
            unreadable=overview.unreadable(),
            failing=_failing(calls, overview, now),
            webhook_url=webhook_url,
            payouts=_together([each.payouts for each in counts]) if is_whole else payouts.count_by_status(),
            claimable=payouts.claimable(),
            payout_alarms=read_payout_alarms(payouts, token_missing=token_missing),
            read_only=takes_no_writes(connection),
        )


def read_alarms(
    engine: Engine, models: Models, now: datetime, *, account: str | None = None, token_missing: bool = False
) -> Alarms:
    """Collect everything that needs a person now, from the stored rows alone.

    :param account: only what is about this merchant account.
    :param token_missing: whether no access token is configured.
    """
    calls = failing_calls(engine, models.services, account)
    with engine.connect() as connection:
        overview = Overview(connection, models, now, account)
        return Alarms(
            held=overview.count_held(),
            to_pay_back=count_to_pay_back(connection, models, account),
            stuck=_stuck(overview.undelivered(), now),
            webhooks_silent=_silent(overview.recently_paid(SILENT)),
            backlog=overview.backlog(),
            unsettled=overview.unsettled(),
            unreadable=overview.unreadable(),
            failing=_failing(calls, overview, now),
            payouts=read_payout_alarms(PayoutOverview(connection, models, now, account), token_missing=token_missing),
            read_only=takes_no_writes(connection),
        )


def _together(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    """The sums of counts by state, each of which names every state."""
    return {state: sum(each[state] for each in counts) for state in counts[0]}


def _failing(failing: Sequence[FailingCalls], overview: Overview, now: datetime) -> tuple[FailingCalls, ...]:
    """Calls that have failed more than once, and for more than five minutes, since they were last answered.

    A newer checkout of the same account proves that its starts are answered again, whichever process made it.
    """
    found = []
    for calls in failing:
        if calls.operation == START:
            answered_at = overview.newest_checkout_at(calls.account)
            if answered_at is not None and answered_at > calls.since:
                if answered_at >= calls.last_failure_at:
                    continue
                calls = replace(calls, since=answered_at)
        if calls.count > 1 and calls.since <= now - PATIENCE:
            found.append(calls)
    return tuple(found)


def _stuck(undelivered: tuple[UndeliveredEvent, ...], now: datetime) -> tuple[UndeliveredEvent, ...]:
    return tuple(event for event in undelivered if event.last_error or now - event.occurred_at >= PATIENCE)


def _silent(paid: list[tuple[UnheardPayment, int]]) -> bool:
    return bool(paid) and not any(webhooks for _, webhooks in paid[:SILENT])
