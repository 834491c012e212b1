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
    ("now", "due"),
    [
        (after(), after(seconds=10)),
        (after(minutes=14), after(minutes=16, seconds=1)),
        (after(minutes=16, seconds=1), after(minutes=17, seconds=1)),
    ],
)
def test_a_created_checkout(now: datetime, due: datetime) -> None:
    assert schedule.next_read("created", BORN, BORN, now) == due


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (after(), after(seconds=10)),
        (after(hours=20), after(hours=20, minutes=5)),
        (after(hours=23, minutes=58), after(hours=24, seconds=1)),
        (after(hours=30), after(hours=31)),
    ],
)
def test_a_pending_checkout(now: datetime, due: datetime) -> None:
    assert schedule.next_read("pending", BORN - timedelta(days=1), BORN, now) == due


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (after(minutes=16), after(minutes=24)),
        (after(days=2), after(days=2, hours=12)),
        (after(days=6, hours=20), after(days=7)),
        (after(days=7), None),
    ],
)
def test_an_abandoned_checkout(now: datetime, due: datetime | None) -> None:
    assert schedule.next_read("abandoned", BORN, BORN, now) == due


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 320), (8, 600), (50, 600), (100_000, 600)]
)
def test_reads_that_fail_are_tried_ever_more_rarely(failures: int, seconds: int) -> None:
    assert after_failures(failures, BORN) == after(seconds=seconds)
