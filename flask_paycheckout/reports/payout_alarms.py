"""What of the payouts needs a person, and its wording in the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flask_paycheckout.rules.payout_states import PayoutStatus
from flask_paycheckout.rules.text import account_text, moment_text
from flask_paycheckout.store.overview import LISTED
from flask_paycheckout.store.payout_overview import FAILED_FOR, ListedPayout, PayoutOverview

__all__ = ["PayoutAlarms", "late_remedy", "missing_token_text", "payout_lines", "payout_text", "read_payout_alarms"]

# The accounts that one sentence names.
_NAMED = 5
_BY_WHY = "--by YOU --why REASON"
_UNCLAIMED = (
    "Some have waited for more than a week. Send the customer the link again; the owner's page of the refund shows it.",
    f"Or cancel one: flask paycheckout payouts cancel REFERENCE {_BY_WHY}",
)


@dataclass(frozen=True)
class PayoutAlarms:
    """Payouts and refunds that do not go on by themselves; each list has 100 at most, the oldest first."""

    waiting: tuple[ListedPayout, ...] = ()
    """Those that wait for a person's approval."""

    unclaimed: tuple[ListedPayout, ...] = ()
    """Refunds of which the customer has not said for more than a week where they go."""

    late: tuple[ListedPayout, ...] = ()
    """Those to be sent or followed whose next step is overdue or fails, or that were sent more than a week ago."""

    unknown: tuple[ListedPayout, ...] = ()
    """Those of which nobody here knows whether they were sent."""

    failed: tuple[ListedPayout, ...] = ()
    """Those that failed in the last seven days and were not tried again; older ones are only counted."""

    token_missing: bool = False
    """Whether PAYCHECKOUT_ACCESS_TOKEN is not set."""

    without_token: tuple[str, ...] = ()
    """The merchant accounts of `unsent` that have no access token, neither their own nor that of the settings."""

    @property
    def any(self) -> bool:
        """Whether any payout needs a person."""
        return bool(self.waiting or self.unclaimed or self.late or self.unknown or self.failed)

    @property
    def unsent(self) -> tuple[ListedPayout, ...]:
        """Those of `late` that were not sent yet."""
        return tuple(one for one in self.late if one.status == PayoutStatus.READY)

    @property
    def under_way(self) -> tuple[ListedPayout, ...]:
        """Those of `late` that were sent, or may have been."""
        return tuple(one for one in self.late if one.status != PayoutStatus.READY)


def read_payout_alarms(overview: PayoutOverview, *, token_missing: bool) -> PayoutAlarms:
    """Read what needs a person, with one query for each list."""
    return PayoutAlarms(
        waiting=overview.waiting(),
        unclaimed=overview.unclaimed(),
        late=overview.late(),
        unknown=overview.unknown(),
        failed=overview.failed(),
        token_missing=token_missing,
    )


def late_remedy(alarms: PayoutAlarms) -> str:
    """What to do about payouts that are not sent."""
    if alarms.without_token:
        return missing_token_text(alarms.without_token)
    return (
        "Keep this running beside the shop: flask paycheckout reconcile --watch."
        " A missing or refused access token is set in PAYCHECKOUT_ACCESS_TOKEN, or in the account's own,"
        " or given once by: flask paycheckout payouts send --login"
    )


def missing_token_text(accounts: Sequence[str]) -> str:
    """What to do about accounts that have no access token to send payouts with."""
    named = [repr(name) for name in accounts if name]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    own = (
        f"No access token is configured for the account {', '.join(named[:_NAMED])}{more}."
        " Give each its own: Account(..., access_token=...) in @paycheckout.account"
    )
    default = (
        "No access token is configured. Send them now with: flask paycheckout payouts send --login;"
        " or set PAYCHECKOUT_ACCESS_TOKEN, and reconcile sends them"
    )
    if not named:
        return default
    return own if "" not in accounts else f"{default}. {own}"


def payout_text(payout: ListedPayout) -> str:
    """Describe a payout in one line, for people."""
    about = (f" of order {payout.order_id}" if payout.order_id else "") + account_text(payout.account)
    to = f" to {payout.destination}" if payout.destination else ""
    problem = f": {' '.join(payout.problem.split())}" if payout.problem else ""
    since = moment_text(payout.moved_at)
    money = f"{payout.amount} {payout.currency}"
    return f"{payout.reference}: {payout.kind}{about}, {money}{to}, {payout.status} since {since}{problem}"


def payout_lines(counts: Mapping[str, int], claimable: Sequence[ListedPayout], alarms: PayoutAlarms) -> Iterator[str]:
    """The report's lines about payouts; none for a shop without any."""
    if not any(counts.values()):
        return
    yield from ("", f"Payouts: {', '.join(f'{count} {state}' for state, count in counts.items())}.")
    yield from _section(
        f"PAYOUTS WAIT FOR YOUR APPROVAL: {counts['waiting']}.",
        [(one, f"--seen {one.revision}") for one in alarms.waiting],
        counts["waiting"],
        "Approve what you see: flask paycheckout payouts approve REFERENCE --seen N --by YOU",
        f"Or cancel it:        flask paycheckout payouts cancel REFERENCE {_BY_WHY}",
    )
    yield from _section(
        f"REFUNDS WAIT FOR THE CUSTOMER: {counts['claimable']}, who has not said where the money goes.",
        [(one, "") for one in claimable],
        counts["claimable"],
        *(_UNCLAIMED if alarms.unclaimed else ()),
    )
    yield from _section(
        "PAYOUTS ARE NOT SENT: they are ready, and no call succeeds.",
        [(one, "") for one in alarms.unsent],
        None,
        late_remedy(alarms),
    )
    yield from _section(
        "PAYOUTS WITHOUT NEWS: they were sent, or may have been, and are not followed to their end.",
        [(one, "") for one in alarms.under_way],
        None,
        "Keep this running beside the shop: flask paycheckout reconcile --watch",
        "If it runs, look for the reference in the service's dashboard.",
    )
    yield from _section(
        f"UNKNOWN PAYOUTS: {counts['unknown']}. Nobody here can know whether the money went out.",
        [(one, f"service reference {one.service_reference}") for one in alarms.unknown],
        counts["unknown"],
        "Look in the service's dashboard, or on the chain, and say what you found:",
        f"flask paycheckout payouts resolve REFERENCE --sent (or --not-sent) {_BY_WHY}",
    )
    older = counts["failed"] - len(alarms.failed)
    yield from _section(
        f"FAILED PAYOUTS: {len(alarms.failed)} of the last {FAILED_FOR.days} days; nothing was paid."
        + (f" {older} older or replaced." if older > 0 else ""),
        [(one, "") for one in alarms.failed],
        None,
        f"Try one again: flask paycheckout payouts retry REFERENCE {_BY_WHY}",
    )


def _section(
    title: str, listed: Sequence[tuple[ListedPayout, str]], count: int | None, *remedies: str
) -> Iterator[str]:
    """A heading with its payouts and remedies; nothing without payouts."""
    if not listed:
        return
    yield from ("", title)
    for payout, more in listed:
        yield f"  {payout_text(payout)}{f' ({more})' if more else ''}"
    if count is not None and count > len(listed):
        yield f"  ... and {count - len(listed)} more"
    elif count is None and len(listed) == LISTED:
        yield "  ... and perhaps more: flask paycheckout payouts"
    yield from (f"  {remedy}" for remedy in remedies)
