"""The alarms of one page of the owner's, found once, and their number for its navigation."""

from __future__ import annotations

from dataclasses import replace

from flask import g

from flask_paycheckout.books.alarms import Alarm, Severity
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import Show, plain_sum
from flask_paycheckout.views.owner_forms import owner

_NAME, _BARRED = "paycheckout_alarms", "paycheckout_barred"


def alarms_of_page(account: str | None = None, show: Show = plain_sum) -> tuple[Alarm, ...]:
    """The alarms of one merchant account, or of every account, the most urgent first.

    :param show: formats their sums, where this is the first call for a page.
    """
    found: dict[str | None, tuple[Alarm, ...]] = g.setdefault(_NAME, {})
    if account not in found:
        found[account] = find_alarms(replace(runtime().look(account), show=show))
    return found[account]


def number_waiting() -> int:
    """The number of things that a person has to decide, and of troubles, for the navigation of each page.

    Without the approvals that only others may give.
    """
    account = next(iter(g.get(_NAME, {})), None)
    urgent = [alarm for alarm in alarms_of_page(account) if alarm.severity is not Severity.NOTE]
    return sum((alarm.count if alarm.page else 1) - len(for_others(alarm)) for alarm in urgent)


def for_others(alarm: Alarm) -> set[str]:
    """The references of payouts that wait for an approval which this person may not give."""
    if alarm.kind != "payouts-to-approve":
        return set()
    barred: dict[str, set[str]] = g.setdefault(_BARRED, {})
    if alarm.key not in barred:
        references = [each.reference for each in alarm.examples if each.reference]
        barred[alarm.key] = runtime().payout_decisions.barred(references, owner())
    return barred[alarm.key]
