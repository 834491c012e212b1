"""The alarms of a shop, as report, doctor, metrics and the owner's page show them."""

from __future__ import annotations

from flask_paycheckout.books.alarms import Alarm, Severity
from flask_paycheckout.books.report import Report, report, report_lines
from tests.scripted import Shop


def told(shop: Shop, account: str | None = None) -> Report:
    with shop.app.app_context():
        return report(shop.runtime.alarm_context(account))


def alarms_of(shop: Shop, account: str | None = None) -> dict[str, Alarm]:
    """Every alarm by its key."""
    return {alarm.key: alarm for alarm in told(shop, account).alarms}


def urgent(shop: Shop) -> set[str]:
    """The keys of the alarms that need a person."""
    return {key for key, alarm in alarms_of(shop).items() if alarm.severity is not Severity.NOTE}


def text_of(shop: Shop) -> str:
    return "\n".join(line for _, line in report_lines(told(shop)))


def examples(shop: Shop, key: str) -> list[str]:
    """The examples of an alarm as text; empty without the alarm."""
    return [str(example) for example in alarms.examples] if (alarms := alarms_of(shop).get(key)) else []
