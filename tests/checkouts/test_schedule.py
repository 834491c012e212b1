"""The times of a checkout's next reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from flask_paycheckout.checkouts.schedule import Schedule, after_failures

BORN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
schedule = Schedule(pending_for=timedelta(hours=24), watch_for=timedelta(days=7))


def after(**parts: float) -> datetime:
    return BORN + timedelta(**parts)


@pytest.mark.parametrize(
    ("status", "now", "due"),
    [
        ("created", after(), after(seconds=10)),
        ("created", after(minutes=14), after(minutes=16, seconds=1)),
        ("created", after(minutes=16, seconds=1), after(minutes=17, seconds=1)),
        ("pending", after(), after(seconds=10)),
        ("pending", after(hours=20), after(hours=20, minutes=5)),
        ("pending", after(hours=23, minutes=58), after(hours=24, seconds=1)),
        ("pending", after(hours=30), after(hours=31)),
        ("abandoned", after(minutes=16), after(minutes=24)),
        ("abandoned", after(days=2), after(days=2, hours=12)),
        ("abandoned", after(days=6, hours=20), after(days=7)),
        ("abandoned", after(days=7), None),
        ("paid", after(), None),
    ],
)
def test_the_next_read(status: str, now: datetime, due: datetime | None) -> None:
    assert schedule.next_read(status, BORN - timedelta(days=status == "pending"), BORN, now) == due


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 320), (8, 600), (50, 600), (100_000, 600)]
)
def test_reads_that_fail_are_tried_ever_more_rarely(failures: int, seconds: int) -> None:
    assert after_failures(failures, BORN) == after(seconds=seconds)
