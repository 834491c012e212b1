"""The alarms of one page of the owner's, found once, and their number for its navigation."""

from __future__ import annotations

from flask import g

from flask_paycheckout.books.alarms import Alarm, Severity
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.runtime import runtime

_NAME = "paycheckout_alarms"


def alarms_of_page(account: str | None = None) -> tuple[Alarm, ...]:
    """All alarms of an account, or of all, the most urgent first."""
    found: dict[str | None, tuple[Alarm, ...]] = g.setdefault(_NAME, {})
    if account not in found:
        found[account] = find_alarms(runtime().look(account))
    return found[account]


def number_waiting() -> int:
    """The number of things that a person has to decide, and of troubles, for the navigation of each page."""
    account = next(iter(g.get(_NAME, {})), None)
    urgent = [alarm for alarm in alarms_of_page(account) if alarm.severity is not Severity.NOTE]
    return sum(alarm.count if alarm.page else 1 for alarm in urgent)
